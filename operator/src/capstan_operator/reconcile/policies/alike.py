"""Whether a task fails in the same way again and again, before the training makes a step.

A program with a wrong import, a misspelt flag or a graph that cannot be built fails at each start.
The operator cannot know that, and restarts the task as after any failure. But it tells the user.

    the failure                                                         counts
    is not of the program (kind, or a reason of its own)                0
    came after a new step of this attempt                               0
    is the first in a row, or has another exit code or last line        1
    has the exit code and the last line of the failure before           one more than before

Numbers in the last line do not count: they are often addresses, ports or times.

The failure before is that of the same task. If a failure restarts the whole job, it is that of the
job: several tasks have the same mistake, and another one may be the first to fail each time.
"""

import dataclasses
import re
from collections.abc import Iterable
from datetime import datetime

from capstan_operator.api.replicas import OnFailure
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Progress, Status, TaskState, TaskStatus
from capstan_operator.reconcile.policies import backoff, failure
from capstan_operator.reconcile.policies.failure import Failure, FailureClass

MANY = 3
"""So many failures that are alike tell the user something. After two on one node, the cause may be
that node, so the third attempt prefers another node (`policies.avoidance`)."""

_NUMBER = re.compile(r"0x[0-9a-f]+|[0-9]+", re.IGNORECASE)
_FAILING = frozenset({TaskState.BACK_OFF, TaskState.FAILED})


def count(job: TrainingJob, status: Status, row: TaskStatus, failed: Failure, now: datetime) -> int:
    """Return how many of the last failures are alike, with this one.

    `status` has the rows before the failures of this pass, and the last report of the job. `row`
    is the row of the task before the failure.
    """
    if failed.kind is not FailureClass.PERMANENT or failed.reason not in ("", "Error"):
        return 0
    if _has_stepped(row, status.progress):
        return 0
    # A row keeps only the end of a message.
    kind = _kind(dataclasses.replace(failed, message=failure.kept(failed.message)))
    policy, ended = job.spec.run_policy.restart_backoff, failed.at or now
    before = (
        last.failures_alike
        for last in _compared(job, status, row)
        if backoff.failures_in_a_row(policy, last, ended) > 1 and _kind(last) == kind
    )
    return 1 + max(before, default=0)


def hint(row: TaskStatus) -> str:
    """Return what many failures alike say about their cause, or "" if there are few."""
    if row.failures_alike < MANY:
        return ""
    return (
        f"{row.failures_alike} attempts in a row ended like the last one of {row.name}, and none "
        "reported a step: the program is the likely cause"
    )


def of_failing(rows: Iterable[TaskStatus]) -> str:
    """Return the hint about the first task that fails so now, or "" if there is none."""
    return next(filter(None, map(hint, filter(_is_failing, rows))), "")


def _is_failing(row: TaskStatus) -> bool:
    """Return whether the last that is known of a task is a failure.

    A task that was stopped without an instance was waiting for its next attempt.
    """
    if row.state is TaskState.STOPPED:
        return row.uid is None
    return row.state in _FAILING


def _compared(job: TrainingJob, status: Status, row: TaskStatus) -> Iterable[TaskStatus]:
    """Return the rows that may show the failure before."""
    if job.replica(row.name.type).on_failure is not OnFailure.RESTART_JOB:
        return (row,)
    # A restart of the whole job leaves only the count of the task that failed first.
    return (other for other in status.tasks if other.failures_alike)


def _has_stepped(row: TaskStatus, progress: Progress | None) -> bool:
    """Return whether the training has made a step since the attempt of `row` began."""
    if progress is None or progress.advanced_at is None:
        return False
    return row.started_at is None or progress.advanced_at >= row.started_at


def _kind(ended: Failure | TaskStatus) -> tuple[int | None, str]:
    return ended.exit_code, _NUMBER.sub("", failure.cause(ended))
