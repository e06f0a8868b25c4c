"""What is there, in the few facts that any decision may depend on.

The view knows neither pods nor processes: whoever watches them fills it in. Each pass takes one
`Observed`, which is the whole truth of one moment and no difference to an earlier one.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Progress


class TaskPhase(enum.StrEnum):
    """As Kubernetes' pod phases. A process is `Running` from its start to its end."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One life of one task: a pod, or a process from its start until it is cleared away.

    A life that has ended stays in view, with its exit code, until a `StopTask` names its uid. A
    view that is missing although its uid is in the status counts as lost.
    """

    name: TaskName
    attempt: int
    uid: Uid
    phase: TaskPhase
    ready: bool = False
    exit_code: int | None = None
    """0 to 255, 128 + n for signal n; None while it lives, and when nobody knows."""
    reason: str = ""
    """CamelCase word for why it is in this phase, where one is known: OOMKilled, Evicted ..."""
    message: str = ""
    """Its last words: the end of the log of the trainer. May have many lines. Of a life that is
    Pending, `reason` and `message` say what it waits for, where that is known."""
    deleting: bool = False
    """It has been told to stop, by us or by somebody else."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    step: int | None = None
    """The last global step that this task reported."""
    pod: str = ""
    """The name of its pod; empty where there are no pods."""
    node: str = ""
    """Where it runs; empty until that is decided."""
    lingers: bool = False
    """It has ended, and something beside it still runs that nobody has told to stop: a sidecar."""
    leaving: bool = False
    """It has been told to go, and is still there: also what had ended by itself before that, which
    a sidecar or somebody's finalizer holds up."""
    scheduled: bool = True
    """Whether there is a place for it. A process always has one."""

    @property
    def has_ended(self) -> bool:
        return self.phase in (TaskPhase.SUCCEEDED, TaskPhase.FAILED)

    @property
    def is_going(self) -> bool:
        """It is only waited for: nobody needs to tell it to go any more."""
        return self.deleting or self.leaving

    @property
    def of_deleted_job(self) -> bool:
        """It was a task of a job of the same name that is no more: shown with attempt 0, so that it
        counts for nothing. Its end is Kubernetes' affair, and is only waited for."""
        return self.attempt == 0


TEMPLATE_INVALID = "TemplateInvalid"
"""The API server would refuse every pod of a type."""
NAME_CONFLICT = "NameConflict"
"""What has the name of the job's Service, or of a task's pod, belongs to somebody else."""
SERVICE_MISSING = "ServiceMissing"
"""The job's Service could not be created: a quota, a policy or a webhook is against it, or the API
server is in trouble."""
WAITING_FOR_OLD_PODS = "WaitingForOldPods"
"""What a deleted job of the same name had is not gone yet."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What is in the way of a task or, in `Observed`, of all: one of the words above."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything of one job at one moment. Views in any order, also of tasks it no longer has."""

    tasks: tuple[TaskView, ...] = ()
    progress: Progress | None = None
    obstacle: Obstacle | None = None
    """While there is one nothing is started, and nothing is stopped for it. It costs nothing."""
