"""What the user asked for, as values: the fields of a TrainingJob that have an effect.

Rule 1: a field that does nothing is absent, so that it is refused and not silently ignored.
Rule 2: what stands under a field is what `kubectl explain` and the reference say of it: `crd` makes
the CustomResourceDefinition of these models, so their limits are the API server's too.

Build one with `parse.parse`, which also checks what a single field cannot know. All models are
frozen; YAML's names are the camelCase of the attributes'. Vocabulary and defaults: trainingjob API.
"""

import enum
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr

from capstan_operator.api import names
from capstan_operator.api.fields import (
    AbsolutePath,
    Count,
    Factor,
    Model,
    Port,
    PositiveSeconds,
    Replicas,
    Seconds,
    Subdomain,
    Text,
    WholeSeconds,
)
from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.template import PodTemplate

JobName = Annotated[StrictStr, Field(pattern=names.DNS_LABEL, max_length=names.MAX_NAME)]


class RestartPolicy(enum.StrEnum):
    """Which ends of a task may be followed by another attempt (`policies.restart`)."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class OnFailure(enum.StrEnum):
    """What the failure of a task means for the job (`policies.restart`)."""

    RESTART_TASK = "RestartTask"
    RESTART_JOB = "RestartJob"
    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"


class SuccessPolicy(enum.StrEnum):
    """Whose exit 0 ends the job (`policies.success`)."""

    DEFAULT = "Default"
    ALL_WORKERS = "AllWorkers"


class ReplicaSpec(Model):
    """The tasks of one replica type."""

    replicas: Replicas = 1
    """How many tasks."""
    restart_policy: RestartPolicy = RestartPolicy.ON_FAILURE
    """When a task that ended starts again: `Always`, `OnFailure`, `Never`, or `ExitCode` (after an
    infrastructure failure, running out of memory, or exit code 130, 137, 138 or 143). Under
    `Always` a task also starts again after exit code 0, unless the success policy waits for that
    task; no limit counts these restarts, but the pauses between them grow."""
    on_failure: OnFailure = OnFailure.RESTART_TASK
    """What a failure means for the job: `RestartTask`, `RestartJob` (all tasks start again),
    `FailJob`, `Ignore`."""
    template: PodTemplate
    """A pod template. The task is its container called `trainer`, or its only one."""


class ReplicaSpecs(Model):
    """At most one entry per replica type."""

    chief: ReplicaSpec | None = None
    """The worker that also initialises and saves the model; at most one. Without it worker 0 is."""
    ps: ReplicaSpec | None = None
    """Parameter servers: they hold the variables."""
    worker: ReplicaSpec | None = None
    """Workers: they train."""
    evaluator: ReplicaSpec | None = None
    """Evaluates checkpoints beside the training, outside the cluster; at most one."""

    def items(self) -> Iterator[tuple[ReplicaType, ReplicaSpec]]:
        """Yield what the job has, in the order of `ReplicaType`."""
        for kind in ReplicaType:
            replica = self.get(kind)
            if replica is not None:
                yield kind, replica

    def get(self, kind: ReplicaType) -> ReplicaSpec | None:
        """Return what the job has of a type; None if it has none."""
        replica: ReplicaSpec | None = getattr(self, kind)
        return replica


class RestartBackoff(Model):
    """How long a task waits before its next attempt (`policies.backoff`)."""

    initial_seconds: Seconds = 5
    """Wait before the first restart of a task."""
    factor: Factor = 2
    """Each further wait is so many times longer."""
    max_seconds: Seconds = 300
    """And never longer than this."""
    reset_after_seconds: Seconds = 600
    """A task that has lived so long starts again from the first wait."""


class RunPolicy(Model):
    """How often and how long to try."""

    backoff_limit: Count = 6
    """How many restarts after failures of the program the whole job may have. The next failure
    fails the job. A restart after exit code 0 (`restartPolicy: Always`) does not count."""
    infrastructure_backoff_limit: Count = 100
    """How many restarts the whole job may have after failures that are not the program's: evicted,
    deleted or lost tasks. The next such failure fails the job."""
    restart_backoff: RestartBackoff = RestartBackoff()
    """How long a task waits before its next attempt."""
    active_deadline_seconds: PositiveSeconds | None = None
    """The job fails when it has taken longer. May be changed at any time."""
    ps_grace_period_seconds: WholeSeconds = 30
    """When the job is over, the time that parameter servers have to end."""


class Cluster(Model):
    """How tasks reach each other."""

    port: Port | None = None
    """The port of every task; 2222 if unset. On one machine, where tasks cannot share a port: the
    first of as many consecutive ports as there are addresses; free ones are chosen if unset."""
    domain: Subdomain = "cluster.local"
    """What the names of services end in, in this Kubernetes cluster."""


class Checkpoint(Model):
    """Where tasks keep checkpoints: a volume that all of them share."""

    path: AbsolutePath
    """Where it is mounted in every container of every task: an absolute path. The tasks find it in
    CAPSTAN_CHECKPOINT_DIR."""
    existing_claim: Subdomain
    """The PersistentVolumeClaim to mount, of the job's namespace."""


class Spec(Model):
    replica_specs: ReplicaSpecs
    """The tasks, by type. At least a chief or a worker; at most one chief and one evaluator."""
    cluster: Cluster = Cluster()
    """How tasks reach each other."""
    checkpoint: Checkpoint | None = None
    """Where tasks keep checkpoints. On one machine it is a folder of the job."""
    success_policy: SuccessPolicy = SuccessPolicy.DEFAULT
    """Whose exit 0 ends the job. `Default`: the chief's, or worker 0's where there is no chief.
    `AllWorkers`: every worker's."""
    run_policy: RunPolicy = RunPolicy()
    """How often and how long to try."""


class Metadata(Model):
    """Kubernetes' own, as far as a TrainingJob on its own has it."""

    name: JobName
    """Starts with a letter; lowercase letters, digits and dashes; the longest task's name with it
    has at most 63 characters."""
    namespace: Text = "default"
    uid: Uid = Uid("")
    """Identity of the job over its whole life. Empty until whoever runs the job gives it one."""
    generation: int | None = None
    """Of the spec: the API server counts its changes. None where there is no API server."""
    labels: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    annotations: dict[StrictStr, StrictStr] = Field(default_factory=dict)


class TrainingJob(Model):
    """A valid TrainingJob: what `parse.parse` returned, or a `with_uid` of it."""

    api_version: Literal["capstan.dev/v1alpha1"] = "capstan.dev/v1alpha1"
    kind: Literal["TrainingJob"] = "TrainingJob"
    metadata: Metadata
    spec: Spec

    def with_uid(self, uid: Uid) -> Self:
        """Return the same job under an identity: the API server's or, locally, a chosen one."""
        return self.model_copy(update={"metadata": self.metadata.model_copy(update={"uid": uid})})

    def replica(self, kind: ReplicaType) -> ReplicaSpec:
        """Return the replica spec of a type that the job has; KeyError if it has none."""
        return dict(self.spec.replica_specs.items())[kind]

    def tasks(self) -> tuple[TaskName, ...]:
        """All tasks in table order: chief, ps, worker, evaluator, each by index."""
        return tuple(
            TaskName(kind, index)
            for kind, replica in self.spec.replica_specs.items()
            for index in range(replica.replicas)
        )
