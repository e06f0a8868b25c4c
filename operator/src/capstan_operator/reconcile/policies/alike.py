"""Whether a task fails in the same way again and again, before the training makes a step.

A program with a wrong import, a misspelt flag or a graph that cannot be built fails at each start.
The operator cannot know that, and restarts the task as after any failure. But it tells the user.

    the failure                                                         counts
    is not of the program (kind, or a reason of its own)                0
    came after a new step of this attempt                               0
    is the first in a row, or has another exit code or last line        1
    has the exit code and the last line of the failure before           one more than before

Numbers in the last line do not count: they are often addresses, ports or times.
"""

import re
from collections.abc import Iterable

from capstan_operator.api.status import Progress, TaskState, TaskStatus
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, cause

MANY = 3
"""So many failures that are alike tell the user something. After two on one node, the cause may be
that node, so the third attempt prefers another node (`policies.avoidance`)."""

_NUMBER = re.compile(r"0x[0-9a-f]+|[0-9]+", re.IGNORECASE)
_FAILING = frozenset({TaskState.BACK_OFF, TaskState.FAILED})


def count(row: TaskStatus, failed: Failure, in_a_row: int, progress: Progress | None) -> int:
    """Return how many of the last failures are alike, with this one.

    `row` is the row before the failure. `in_a_row` counts the failures with this one, and
    `progress` is the last report of the job.
    """
    if failed.kind is not FailureClass.PERMANENT or failed.reason not in ("", "Error"):
        return 0
    if _has_stepped(row, progress):
        return 0
    is_like = in_a_row > 1 and row.failures_alike and _kind(row) == _kind(failed)
    return row.failures_alike + 1 if is_like else 1


def hint(row: TaskStatus) -> str:
    """Return what many failures alike say about their cause, or "" if there are few."""
    if row.failures_alike < MANY:
        return ""
    return (
        f"{row.failures_alike} attempts of {row.name} in a row ended like this, and none reported a"
        " step: the program is the likely cause"
    )


def of_failing(rows: Iterable[TaskStatus]) -> str:
    """Return the hint about the first task that fails so now, or "" if there is none."""
    failing = (row for row in rows if row.state in _FAILING)
    return next(filter(None, map(hint, failing)), "")


def _has_stepped(row: TaskStatus, progress: Progress | None) -> bool:
    """Return whether the training has made a step since the attempt of `row` began."""
    if progress is None or progress.advanced_at is None:
        return False
    return row.started_at is None or progress.advanced_at >= row.started_at


def _kind(ended: Failure | TaskStatus) -> tuple[int | None, str]:
    return ended.exit_code, _NUMBER.sub("", cause(ended))
