"""The outcome of a pass as values: a status, actions and news.

Order of effect: the status is written first, then the actions are carried out, those of one task in
their order, then the news is told. If the status cannot be written, the pass ends there.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Status


@dataclass(frozen=True, slots=True)
class StartTask:
    """Start this attempt. It is repeated in each pass until the attempt is seen; idempotent."""

    task: TaskName
    attempt: int
    epoch: int


class StopReason(enum.StrEnum):
    """Why an instance is stopped, in words for a log."""

    REPLACED = "another attempt takes its place"
    UNKNOWN_TASK = "the job has no such task"
    NODE_LOST = "its node is lost"
    JOB_OVER = "the job is over"


@dataclass(frozen=True, slots=True)
class StopTask:
    """Stop this instance: SIGTERM, then SIGKILL after the grace period.

    It leaves the view when it has ended. An instance that had ended before is removed: its pod is
    deleted, its process forgotten. A grace period of 0 force-deletes it, as in Kubernetes: it
    leaves the view at once, whether or not it runs on.
    """

    task: TaskName
    uid: Uid
    grace_seconds: float
    why: StopReason


Action = StartTask | StopTask


class NewsType(enum.StrEnum):
    """As Kubernetes' event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Announce:
    """One line for the user, told once, after the status that it is about was written."""

    type: NewsType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole outcome of one pass.

    `status` is None if nothing changed: then nothing is written. After actions, observe and plan
    again. Without actions, there is nothing to do until something changes or `again_at` comes.
    """

    status: Status | None = None
    actions: tuple[Action, ...] = ()
    news: tuple[Announce, ...] = ()
    again_at: datetime | None = None


def changed(before: Status, after: Status) -> Status | None:
    """Return `after`, or None if it says the same as `before`.

    Their rendered forms are compared, because a metric that is NaN differs from itself.
    """
    return None if status_json.render(after) == status_json.render(before) else after
