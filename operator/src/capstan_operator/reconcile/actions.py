"""What a pass wants done. Actions are values: compared in tests, carried out by whoever watches.

Order of effect: the status is written first, then the actions happen, those of one task in their
order, then the news is told. If the status cannot be written, nothing else happens and the pass is
over.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api import status as statuses
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Status


@dataclass(frozen=True, slots=True)
class StartTask:
    """Start this attempt. It may be asked for again until it is seen: twice is once."""

    task: TaskName
    attempt: int
    epoch: int


@dataclass(frozen=True, slots=True)
class StopTask:
    """End this life: SIGTERM, then SIGKILL after the grace period. It leaves the view when it has
    ended. One that has ended before is cleared away: its pod is deleted, its process forgotten.
    With no grace period it leaves the view at once, for nobody is there to say that it ended.
    """

    task: TaskName
    uid: Uid
    grace_seconds: float
    why: str


Action = StartTask | StopTask


class NewsType(enum.StrEnum):
    """As Kubernetes' event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Announce:
    """One line for the user, told once, when it has become true."""

    type: NewsType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole outcome of one pass.

    `status` is None when it is as it was: nothing to write. When there are actions, observe and
    plan again after them. When there are none, nothing is to be done until something changes or
    the time is `again_at`.
    """

    status: Status | None = None
    actions: tuple[Action, ...] = ()
    news: tuple[Announce, ...] = ()
    again_at: datetime | None = None


def changed(before: Status, after: Status) -> Status | None:
    """Return `after`, or None if it says the same.

    Compared as it is written: a metric that is not a number differs from itself.
    """
    return None if statuses.render(after) == statuses.render(before) else after
