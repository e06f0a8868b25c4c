"""The deadlines of an unfinished job. All are computed from times in its status.

field of spec.runPolicy      the job fails this long after
activeDeadlineSeconds        its first pass, including restarts
pendingDeadlineSeconds       the moment from which not all of its tasks run
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status
from capstan_operator.reconcile.policies.failure import Fatal

EXCEEDED = "DeadlineExceeded"
_FIELDS = "spec.runPolicy"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time at which the job fails. `why` and `line` tell the user why.

    `unless` is the event that prevents the failure, as a clause.
    """

    at: datetime
    why: Fatal
    line: str
    unless: str


def first(policy: RunPolicy, status: Status, waiting: str) -> Deadline | None:
    """Return the earliest deadline of a job with this status, or None if it has none.

    `waiting` says which tasks do not run.
    """
    deadlines = _all(policy, status, waiting)
    return min(deadlines, key=lambda deadline: deadline.at, default=None)


def _all(policy: RunPolicy, status: Status, waiting: str) -> Iterator[Deadline]:
    seconds = policy.active_deadline_seconds
    if seconds is not None and status.start_time is not None:
        why = Fatal(EXCEEDED, f"{_FIELDS}.activeDeadlineSeconds")
        at, line = status.start_time + timedelta(seconds=seconds), _line("done", seconds)
        yield Deadline(at, why, line, "it is done")
    seconds = policy.pending_deadline_seconds
    if seconds is not None and status.pending_since is not None:
        why = Fatal(EXCEEDED, f"{_FIELDS}.pendingDeadlineSeconds")
        line = f"{_line('all tasks ran', seconds)}: {waiting}"
        at = status.pending_since + timedelta(seconds=seconds)
        yield Deadline(at, why, line, "all its tasks run")


def _line(what: str, seconds: int) -> str:
    return f"not {what} after {seconds} s"
