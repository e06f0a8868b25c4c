"""The tasks of a TrainingJob by replica type: how many, their pods, and what a failure does.

`spec` has the fields of the whole job, and its rules hold here too.
"""

import enum
from collections.abc import Iterator

from capstan_operator.api.fields import Model, Replicas
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.template import PodTemplate


class RestartPolicy(enum.StrEnum):
    """The ends of a task after which another attempt may be made (`policies.restart`)."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class OnFailure(enum.StrEnum):
    """The effect of a failed task on the job (`policies.restart`)."""

    RESTART_TASK = "RestartTask"
    RESTART_JOB = "RestartJob"
    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"


class ReplicaSpec(Model):
    """The tasks of one replica type."""

    replicas: Replicas = 1
    """The number of tasks. The number of workers may be changed at any time, for example by
    `kubectl scale`. The workers with the highest indices are added or removed, and the others run
    on."""
    restart_policy: RestartPolicy = RestartPolicy.ON_FAILURE
    """The condition for restarting an ended task: `Always`, `OnFailure`, `Never`, or `ExitCode`.
    `ExitCode` restarts a task after an infrastructure failure, after it ran out of memory, or after
    exit code 130, 137, 138 or 143. `Always` also restarts a task after exit code 0, unless the
    success policy waits for that task. These restarts do not count against any limit, but the
    pauses between them grow."""
    on_failure: OnFailure = OnFailure.RESTART_TASK
    """The effect of a failure on the job: `RestartTask`, `RestartJob` (all tasks restart),
    `FailJob`, or `Ignore`."""
    template: PodTemplate
    """A pod template. The task is its container named `trainer`, or its only container."""


class WorkerSpec(ReplicaSpec):
    """The workers, the only tasks whose number may change while the job exists."""

    min_replicas: Replicas | None = None
    """Only for workers: the smallest number of workers. Unset: 0 with a chief, else 1."""
    max_replicas: Replicas | None = None
    """Only for workers: the largest number of workers. Unset: 1000."""


class ReplicaSpecs(Model):
    """At most one entry per replica type."""

    chief: ReplicaSpec | None = None
    """The chief, a worker that also initialises and saves the model; at most one. Without a chief,
    worker 0 initialises and saves the model."""
    ps: ReplicaSpec | None = None
    """Parameter servers, which hold the variables."""
    worker: WorkerSpec | None = None
    """Workers, which train."""
    evaluator: ReplicaSpec | None = None
    """The evaluator, which evaluates checkpoints during the training, outside the cluster; at most
    one."""

    def items(self) -> Iterator[tuple[ReplicaType, ReplicaSpec]]:
        """Yield the types that the job has, in the order of `ReplicaType`."""
        for kind in ReplicaType:
            replica = self.get(kind)
            if replica is not None:
                yield kind, replica

    def get(self, kind: ReplicaType) -> ReplicaSpec | None:
        """Return the replica spec of a type; None if the job has none."""
        replica: ReplicaSpec | None = getattr(self, kind)
        return replica
