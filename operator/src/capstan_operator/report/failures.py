"""Find the last failure that a status remembers."""

from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile.policies import failure

_ENDED_NOW = frozenset({TaskState.FAILED, TaskState.SUCCEEDED, TaskState.STOPPED})
"""States in which the row's attempt is the attempt that ended. In all other states, the row's
attempt is a later one."""


@dataclass(frozen=True, slots=True)
class LastFailure:
    """The failed end of an attempt. `text` is one line; `reason` is one word or empty."""

    task: TaskName
    attempt: int
    reason: str
    exit_code: int | None
    at: datetime | None
    text: str


def ended_attempt(row: TaskStatus) -> int | None:
    """Return the number of the last attempt that ended. None if no attempt has ended."""
    attempt = row.attempt if row.state in _ENDED_NOW else row.attempt - 1
    return attempt if attempt > 0 else None


def of_job(status: Status) -> str:
    """Return why a job failed, and which field or limit decided it. "" if nothing was recorded."""
    for condition in status.conditions:
        if condition.type == "Failed" and condition.status == "True":
            return condition.message
    return status.failure or ""


def last(status: Status) -> LastFailure | None:
    """Return the failure that ended last, or None if the status remembers no failure.

    Each row remembers only its last finished attempt.
    """
    found = [failed for row in status.tasks if (failed := _of_row(row)) is not None]
    return max(found, key=_when, default=None)


def _when(failed: LastFailure) -> tuple[bool, float]:
    return (False, 0.0) if failed.at is None else (True, failed.at.timestamp())


def _of_row(row: TaskStatus) -> LastFailure | None:
    if row.state is TaskState.STOPPED or not _has_failed(row):
        return None
    attempt = ended_attempt(row) or row.attempt
    where = f" on {row.node}" if row.node and row.state is TaskState.FAILED else ""
    said = failure.cause(row)
    text = ": ".join(filter(None, [f"{row.name} attempt {attempt}{where}", failure.how(row), said]))
    return LastFailure(row.name, attempt, row.reason, row.exit_code, row.finished_at, text)


def _has_failed(row: TaskStatus) -> bool:
    return bool(row.exit_code) or row.reason not in ("", failure.COMPLETED)
