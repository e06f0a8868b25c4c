"""The spec of a TrainingJob as values: all fields that have an effect.

Rule 1: a field without an effect is absent, so that it is refused and not silently ignored.
Rule 2: `crd` makes the CustomResourceDefinition from these models, so that an API server has the
same limits, and `kubectl explain` and the reference show the text under each field.

Build a job with `parse.parse`, which also checks the rules over several fields. All models are
frozen. The names in YAML are the camelCase of the attributes.
"""

import enum
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictStr

from capstan_operator.api import names
from capstan_operator.api.fields import (
    AbsolutePath,
    Count,
    Factor,
    Manager,
    Model,
    Port,
    PositiveSeconds,
    Quantity,
    QueueName,
    Seconds,
    Subdomain,
    Text,
    WholeSeconds,
)
from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.replicas import ReplicaSpec, ReplicaSpecs

JobName = Annotated[StrictStr, Field(pattern=names.DNS_LABEL, max_length=names.MAX_NAME)]


class SuccessPolicy(enum.StrEnum):
    """The rule for which tasks must succeed (`policies.success`)."""

    DEFAULT = "Default"
    ALL_WORKERS = "AllWorkers"


class CleanPodPolicy(enum.StrEnum):
    """The pods of a finished job that are deleted (`reconcile.moves`)."""

    RUNNING = "Running"
    ALL = "All"
    NONE = "None"


class Gang(enum.StrEnum):
    """The schedulers that start all pods of a group together or none (`policies.gang`).

    The last one is not called `Off`, because YAML reads `Off` as false.
    """

    AUTO = "Auto"
    NATIVE = "Native"
    COSCHEDULING = "Coscheduling"
    VOLCANO = "Volcano"
    NONE = "None"


class TlsMode(enum.StrEnum):
    """Whether the connections of the tasks are encrypted (`manifests.certificates`)."""

    DISABLED = "Disabled"
    MUTUAL = "Mutual"


class AccessMode(enum.StrEnum):
    """The nodes and pods that may mount a volume at the same time, in Kubernetes' words."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_ONLY_MANY = "ReadOnlyMany"
    READ_WRITE_MANY = "ReadWriteMany"
    READ_WRITE_ONCE_POD = "ReadWriteOncePod"


AccessModes = Annotated[tuple[AccessMode, ...], Field(min_length=1, max_length=len(AccessMode))]


class RestartBackoff(Model):
    """The wait of a task before its next attempt (`policies.backoff`)."""

    initial_seconds: Seconds = 5
    """The wait before the first restart of a task."""
    factor: Factor = 2
    """Each further wait is longer by this factor."""
    max_seconds: Seconds = 300
    """The longest wait."""
    reset_after_seconds: Seconds = 600
    """The time after which a running task has recovered: its next wait is `initialSeconds`
    again."""


class RunPolicy(Model):
    """Limits on the restarts and on the duration of the job."""

    backoff_limit: Count = 6
    """The maximum number of restarts of the whole job after failures of the program. The next
    failure fails the job. A restart after exit code 0 (`restartPolicy: Always`) does not count."""
    infrastructure_backoff_limit: Count = 100
    """The maximum number of restarts of each task after infrastructure failures: it was evicted,
    deleted or lost. The next such failure of this task fails the job. A restart of the whole job
    counts for the task that failed first."""
    restart_backoff: RestartBackoff = RestartBackoff()
    """The wait of a task before its next attempt."""
    active_deadline_seconds: PositiveSeconds | None = None
    """The maximum duration of the job. The job fails if it takes longer. This field may be changed
    at any time."""
    pending_deadline_seconds: PositiveSeconds | None = None
    """The maximum time in which not all tasks run, counted from the start and from each moment at
    which a task fails while all others run. Waits before restarts are part of this time. The job
    fails if the time is longer. This field may be changed at any time."""
    progress_deadline_seconds: PositiveSeconds | None = None
    """The maximum time without a new training step while all tasks run. After this time, the chief
    (or worker 0) counts as failed, with the reason `Stalled`, and its `onFailure` decides what is
    restarted. No effect on a job that reports no progress. This field may be changed at any
    time."""
    clean_pod_policy: CleanPodPolicy = CleanPodPolicy.RUNNING
    """The pods to delete when the job is over. `Running`: the pods that still run; the others stay
    with their logs. `All`: all pods. `None`: no pod, not even a parameter server that runs."""
    ttl_seconds_after_finished: WholeSeconds | None = None
    """The time after the end of the job after which the job is deleted, with its pods and its
    Service. Unset: the job stays until it is deleted by hand. This field may be changed at any
    time."""
    ps_grace_period_seconds: WholeSeconds = 30
    """The time between SIGTERM and SIGKILL for parameter servers when the job is over."""
    evaluator_grace_period_seconds: WholeSeconds = 300
    """The time in which a running evaluator may evaluate the last checkpoint after the job has
    succeeded. If it has not ended by itself then, it gets SIGTERM."""


class Tls(Model):
    """The encryption of the connections between the tasks."""

    mode: TlsMode = TlsMode.DISABLED
    """`Disabled`, or `Mutual`: the operator makes a certificate for each task, and the tasks of the
    job refuse all clients without one. The programs must use Capstan, because TensorFlow 1 has no
    encryption. No effect on one machine, where tasks listen on 127.0.0.1 only."""


class Cluster(Model):
    """The network settings of the tasks."""

    port: Port | None = None
    """The port of every task; 2222 if unset. On one machine, tasks cannot share a port: they get
    consecutive ports that begin with this port, or free ports if this field is unset."""
    domain: Subdomain = "cluster.local"
    """The DNS domain of this Kubernetes cluster."""
    network_policy: StrictBool = False
    """Whether a NetworkPolicy lets only the tasks of the job connect to the tasks. The network of
    the Kubernetes cluster must enforce such policies. No effect on one machine, where tasks listen
    on 127.0.0.1 only."""
    tls: Tls = Tls()
    """The encryption of the connections between the tasks."""


class VolumeClaim(Model):
    """The PersistentVolumeClaim that the operator creates for the job."""

    storage: Quantity
    """The size of the volume, for example `10Gi`."""
    storage_class_name: Subdomain | None = None
    """The StorageClass that provides the volume. Unset: the default class of the cluster."""
    access_modes: AccessModes = (AccessMode.READ_WRITE_MANY,)
    """The access modes of the volume. Tasks on several nodes need `ReadWriteMany`."""


class Checkpoint(Model):
    """The volume for checkpoints, which all tasks share."""

    path: AbsolutePath
    """The mount path of the volume in every container of every task: an absolute path. Tasks read
    it from CAPSTAN_CHECKPOINT_DIR."""
    existing_claim: Subdomain | None = None
    """The PersistentVolumeClaim to mount, in the job's namespace. The operator never deletes
    it."""
    volume_claim: VolumeClaim | None = None
    """A PersistentVolumeClaim `<job>-checkpoints` that the operator creates for the job.
    Kubernetes deletes it, and its checkpoints, together with the job."""


class Scheduling(Model):
    """Wishes for the time and the nodes at which the tasks start."""

    gang: Gang = Gang.AUTO
    """The scheduler of pod groups that starts all tasks together or none: `Native` (Kubernetes'
    own, if `scheduling.k8s.io` has PodGroups), `Coscheduling`, `Volcano`, or `None`. `Auto` chooses
    the first of these that the cluster has. In a queue, `Auto` means `None`, because Kueue admits
    all tasks together."""
    queue_name: QueueName | None = None
    """The LocalQueue of Kueue in which the job waits, in the namespace of the job. Kueue admits all
    tasks together. The number of workers of such a job cannot be changed."""

    spread_parameter_servers: StrictBool = True
    """Whether the scheduler prefers different nodes for the parameter servers. They share a node if
    there is no other room."""


class Spec(Model):
    replica_specs: ReplicaSpecs
    """The tasks, by type. A job has a chief or at least one worker, and at most one chief and one
    evaluator."""
    cluster: Cluster = Cluster()
    """The network settings of the tasks."""
    checkpoint: Checkpoint | None = None
    """The volume for checkpoints. On one machine, tasks use a folder of the job instead."""
    success_policy: SuccessPolicy = SuccessPolicy.DEFAULT
    """The tasks that must exit with code 0 for the job to succeed. `Default`: the chief, or
    worker 0 if the job has no chief. `AllWorkers`: every worker, and the chief if there is one."""
    run_policy: RunPolicy = RunPolicy()
    """Limits on the restarts and on the duration of the job."""
    scheduling: Scheduling = Scheduling()
    """Wishes for the time and the nodes at which the tasks start. No effect on one machine."""
    suspend: StrictBool = False
    """Whether no task may run. If the field becomes true, the operator stops the tasks: first the
    workers and the evaluator, then the chief (or worker 0), which saves a checkpoint, then the
    parameter servers. If it becomes false, the job continues. This field may be changed at any
    time."""
    managed_by: Manager | None = None
    """The controller that runs the job. If it is set and not `capstan.dev/operator`, the operator
    does not touch the job, its status or its pods."""


class Metadata(Model):
    """Kubernetes' metadata, as far as Capstan reads it."""

    name: JobName
    """Lowercase letters, digits and dashes, beginning with a letter. The longest task name,
    <name>-<type>-<index>, may have at most 63 characters."""
    namespace: Text = "default"
    uid: Uid = Uid("")
    """The identity of the job, which never changes. Empty until the API server or `capstanctl` sets
    it."""
    generation: int | None = None
    """Counts the changes of the spec. None if there is no API server."""
    labels: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    annotations: dict[StrictStr, StrictStr] = Field(default_factory=dict)


class TrainingJob(Model):
    """A valid TrainingJob, as `parse.parse` returns it."""

    api_version: Literal["capstan.dev/v1alpha1"] = "capstan.dev/v1alpha1"
    kind: Literal["TrainingJob"] = "TrainingJob"
    metadata: Metadata
    spec: Spec

    def with_uid(self, uid: Uid) -> Self:
        """Return the same job with this uid: the API server's or, locally, a chosen one."""
        return self.model_copy(update={"metadata": self.metadata.model_copy(update={"uid": uid})})

    def replica(self, kind: ReplicaType) -> ReplicaSpec:
        """Return the replica spec of a type that the job has; KeyError if it has none."""
        replica = self.spec.replica_specs.get(kind)
        if replica is None:
            raise KeyError(kind)
        return replica

    def tasks(self) -> tuple[TaskName, ...]:
        """Return all tasks in table order: chief, ps, worker, evaluator, each by index."""
        return tuple(
            TaskName(kind, index)
            for kind, replica in self.spec.replica_specs.items()
            for index in range(replica.replicas)
        )
