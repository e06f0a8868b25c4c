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
    """Its last words: the end of the log of the trainer. May have many lines."""
    deleting: bool = False
    """It has been told to stop, by us or by somebody else."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    step: int | None = None
    """The last global step that this task reported."""

    @property
    def has_ended(self) -> bool:
        return self.phase in (TaskPhase.SUCCEEDED, TaskPhase.FAILED)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything of one job at one moment. Views in any order, also of tasks it no longer has."""

    tasks: tuple[TaskView, ...] = ()
    progress: Progress | None = None
