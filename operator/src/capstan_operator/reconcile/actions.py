"""The outcome of a pass as values: a status, actions and news.

A pass writes the status first. Then it carries out the actions. The actions of one task keep their
order. Then it reports the news. If the status cannot be written, the pass ends without actions and
news.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Status


@dataclass(frozen=True, slots=True)
class StartTask:
    """Start this attempt. Each pass repeats this until it observes the attempt. Idempotent."""

    task: TaskName
    attempt: int
    epoch: int
    probed: bool = False
    """Whether a pod without a readiness probe gets one (`policies.readiness`)."""
    avoided_node: str = ""
    """A node that the attempt avoids if there are others (`policies.avoidance`)."""


class StopReason(enum.StrEnum):
    """Why an instance is stopped, in words for a log."""

    REPLACED = "another attempt takes its place"
    UNKNOWN_TASK = "the job has no such task"
    NODE_LOST = "its node is lost"
    JOB_OVER = "the job is over"
    SUSPENDED = "the job is suspended"


@dataclass(frozen=True, slots=True)
class StopTask:
    """Stop this instance: SIGTERM, then SIGKILL after the grace period.

    The instance leaves the view when it has ended. If it had ended before, its pod is deleted, or
    its process forgotten. A grace period of 0 forces the deletion, as in Kubernetes: the instance
    leaves the view at once, even if it still runs.
    """

    task: TaskName
    uid: Uid
    grace_seconds: float
    why: StopReason


Action = StartTask | StopTask


class NewsType(enum.StrEnum):
    """The type of a news line. Kubernetes' events have the same values."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Announce:
    """One line for the user. It is reported once, after the status that contains it was written."""

    type: NewsType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole outcome of one pass.

    `status` is None if it has not changed; then no status is written. After actions, the caller
    observes and plans again. Without actions, the caller waits until a fact changes or until
    `again_at`.
    """

    status: Status | None = None
    actions: tuple[Action, ...] = ()
    news: tuple[Announce, ...] = ()
    again_at: datetime | None = None
    delete_job: bool = False
    """Whether the finished job has outlived its time. After the actions, the caller deletes it, if
    nobody has changed it since it was observed."""


def changed(before: Status, after: Status) -> Status | None:
    """Return `after`, or None if it equals `before`.

    Two statuses with the same states of tasks are compared in their rendered form. A metric that is
    NaN differs from itself, and `before` may have lost texts because it was too big.
    """
    if _states(after) != _states(before):
        return after
    if after == before or status_json.render(after) == status_json.render(before):
        return None
    return after


def _states(status: Status) -> object:
    """Return the facts of a status that rendering does not change."""
    return status.phase, [(row.name, row.attempt, row.state, row.uid) for row in status.tasks]
