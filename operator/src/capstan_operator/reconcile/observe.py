"""The facts about one job that a pass observes and decides by.

A view is the same for a pod and for a process; `kube.pods` and `local.tasks` make them. Each pass
takes one `Observed`, which describes one moment completely, not the changes since an earlier one.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Progress

NODE_LOST = "NodeLost"
"""The reason of a task whose node is gone or silent for too long. The task may still run there."""


SCHEDULING_GATED = "SchedulingGated"
"""The reason of a task whose pod has scheduling gates, for example the gate of a queue."""


class TaskPhase(enum.StrEnum):
    """The phase of an instance, as of a pod. A process is `Running` from its start to its end."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Deletion(enum.Enum):
    """The time of a request to delete an instance, relative to the end of its task."""

    NOT_REQUESTED = enum.auto()
    BEFORE_END = enum.auto()
    """The request came before the end of the task: the exit code says nothing about the program."""
    AFTER_END = enum.auto()
    """The request came after the task had ended by itself: the exit code counts."""
    WITH_ITS_JOB = enum.auto()
    """The instance belongs to a deleted job of the same name, so Kubernetes deletes it."""


class InstanceState(enum.Enum):
    """The progress of an instance towards its end, derived from the rest of its view."""

    ALIVE = enum.auto()
    """The task of the instance has not ended and was not asked to end."""
    STOPPING = enum.auto()
    """The task of the instance was asked to end and has not ended yet."""
    ENDED = enum.auto()
    """The task and all containers of the instance have ended. Its deletion takes no time."""
    SIDECARS_RUN = enum.auto()
    """The task of the instance has ended. A sidecar still runs and was not asked to end."""
    LEAVING = enum.auto()
    """The task of the instance has ended. A sidecar or a finalizer delays its deletion."""
    ON_LOST_NODE = enum.auto()
    """The node of the instance is lost. Only a forced deletion removes the instance."""
    OF_DELETED_JOB = enum.auto()
    """The instance belongs to a deleted job of the same name. The new job waits for its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One instance of one task: a pod, or a process from its start until it is finalised.

    An instance that has ended stays in view, with its exit code, until a `StopTask` names its uid.
    If a uid is in the status and no view has it, the instance counts as lost.
    """

    name: TaskName
    attempt: int
    uid: Uid
    phase: TaskPhase
    ready: bool = False
    exit_code: int | None = None
    """0 to 255, where 128 + n means signal n. None while the task runs, and if it is not known."""
    reason: str = ""
    """Why the instance is in this phase, in one CamelCase word, if known: OOMKilled, Evicted ..."""
    message: str = ""
    """The end of the trainer's log, which may have many lines. While the instance is Pending,
    `reason` and `message` say what it waits for, if known."""
    deletion: Deletion = Deletion.NOT_REQUESTED
    sidecars_run: bool = False
    """Whether the task has ended and a container beside it has not."""
    on_lost_node: bool = False
    """Whether the node of the instance is lost, and the pod of the task never becomes final."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    silent_since: datetime | None = None
    """Since when nothing is known of an instance on a lost node, if that is known."""
    step: int | None = None
    """The last global step that this task reported."""
    pod: str = ""
    """The name of the instance's pod, or "" for a process."""
    node: str = ""
    """The node of the pod, or "" for a pod without a node and for a process."""

    @property
    def has_ended(self) -> bool:
        return self.phase in (TaskPhase.SUCCEEDED, TaskPhase.FAILED)

    @property
    def is_unscheduled(self) -> bool:
        """True if the instance is a pod without a node."""
        return bool(self.pod) and not self.node

    @property
    def state(self) -> InstanceState:
        """The state that follows from `deletion`, `phase`, `reason` and the node."""
        if self.deletion is Deletion.WITH_ITS_JOB:
            return InstanceState.OF_DELETED_JOB
        if self.has_ended and (self.on_lost_node or self.reason == NODE_LOST):
            return InstanceState.ON_LOST_NODE
        asked = self.deletion is not Deletion.NOT_REQUESTED
        if not self.has_ended:
            return InstanceState.STOPPING if asked else InstanceState.ALIVE
        if asked:
            return InstanceState.LEAVING
        return InstanceState.SIDECARS_RUN if self.sidecars_run else InstanceState.ENDED


TEMPLATE_INVALID = "TemplateInvalid"
"""The API server would refuse every pod of a type."""
TEMPLATE_UNCHECKED = "TemplateUnchecked"
"""The API server has not answered yet whether it would accept the pods."""
NAME_CONFLICT = "NameConflict"
"""The name of the job's Service, NetworkPolicy or PersistentVolumeClaim, or of a task's pod, is
taken by an object of another owner."""
SERVICE_MISSING = "ServiceMissing"
"""The job's Service could not be created: a quota, a policy or a webhook forbids it, or the API
server is in trouble."""
SERVICE_CHANGED = "ServiceChanged"
"""Somebody has changed the job's Service, so that the names of its tasks do not work, and the
operator cannot undo it."""
NETWORK_POLICY_MISSING = "NetworkPolicyMissing"
"""The job's NetworkPolicy could not be created, for the same reasons."""
VOLUME_CLAIM_MISSING = "VolumeClaimMissing"
"""The job's PersistentVolumeClaim could not be created, for the same reasons."""
CERTIFICATES_MISSING = "CertificatesMissing"
"""The Secrets with the certificates of the tasks could not be made, for the same reasons."""
GANG_UNAVAILABLE = "GangUnavailable"
"""The job names a scheduler of pod groups that the cluster does not have."""
WAITING_FOR_OLD_PODS = "WaitingForOldPods"
"""Pods of a deleted job of the same name still exist."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An obstacle that keeps a task, or in `Observed` all tasks, from starting."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """All facts that are observed of one job at one moment.

    The views are in any order. Some views may be of tasks that the job does not have.
    """

    tasks: tuple[TaskView, ...] = ()
    progress: Progress | None = None
    obstacle: Obstacle | None = None
    """While there is an obstacle, no task is started. No task is stopped because of it, and no
    limit is charged."""
    reported_at: datetime | None = None
    """When `progress` was observed."""
    held_by: tuple[str, ...] = ()
    """The finalizers that hold the job, if it is deleted (`policies.deletion`). Its tasks are
    stopped as if it were suspended, and never start again."""
