"""Whether a job has stalled: all its tasks run, but its training makes no step.

spec.runPolicy.progressDeadlineSeconds is the longest time without a new step. The time begins with
the last new step, or later when all tasks run again. The task that reports the progress then counts
as failed, with the reason Stalled.

Rule 1: only a report shows a stall. A job that reports no progress never stalls. While its reporter
does not answer, nothing is known, because perhaps only the operator cannot reach it.
Rule 2: the report must be as new as the deadline. After a pause of the operator, the last report
says nothing about the time since then.
"""

from datetime import datetime, timedelta

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Progress, Status, TaskState
from capstan_operator.reconcile.policies import reporter
from capstan_operator.reconcile.policies.failure import STALLED, Failure, FailureClass

RECHECK = timedelta(seconds=5)
"""The pause between two looks for a report that is as new as the deadline."""


def advanced(before: Progress | None, observed: Progress | None, now: datetime) -> Progress | None:
    """Return the progress of a job, with the time at which its step last changed."""
    if observed is None:
        return before
    same = before is not None and before.step == observed.step
    advanced_at = before.advanced_at if before is not None and same else now
    return observed.model_copy(update={"advanced_at": advanced_at or now})


def failure(
    job: TrainingJob, status: Status, reported_at: datetime | None, now: datetime
) -> Failure | None:
    """Return the failure of a job's reporter if the job has stalled, else None.

    `status` has the rows and the progress of this pass, and the phase of the last pass.
    `reported_at` is the time at which the progress was observed, None without an observation.
    """
    deadline = _deadline(job, status)
    if deadline is None or reported_at is None or min(reported_at, now) < deadline:
        return None
    row = status.task(reporter.of(job))
    if row.state is not TaskState.RUNNING or status.progress is None:
        return None
    seconds = job.spec.run_policy.progress_deadline_seconds
    return Failure(
        task=row.name,
        attempt=row.attempt,
        kind=FailureClass.RETRYABLE,
        reason=STALLED,
        message=f"no new step after step {status.progress.step} for {seconds} s",
        at=now,
        node=row.node,
    )


def look_again(job: TrainingJob, status: Status, now: datetime) -> datetime | None:
    """Return when a job may have stalled, or None if it cannot stall."""
    deadline = _deadline(job, status)
    if deadline is None or status.task(reporter.of(job)).state is not TaskState.RUNNING:
        return None
    return deadline if deadline > now else now + RECHECK


def _deadline(job: TrainingJob, status: Status) -> datetime | None:
    seconds = job.spec.run_policy.progress_deadline_seconds
    running_since = status.last_transition_time
    if seconds is None or status.phase is not Phase.RUNNING or running_since is None:
        return None
    if status.progress is None or status.progress.advanced_at is None:
        return None
    return max(status.progress.advanced_at, running_since) + timedelta(seconds=seconds)
