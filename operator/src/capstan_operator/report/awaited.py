"""Decide whether the state that a user waits for has come."""

import enum

from capstan_operator.api.status import Phase
from capstan_operator.report import failures
from capstan_operator.report.job import Job


class Awaited(enum.StrEnum):
    """The state that `capstanctl wait --for` waits for."""

    FINISHED = "finished"
    RUNNING = "running"
    """All tasks run. A job that has succeeded counts, because its tasks have run."""
    DELETED = "deleted"


class Outcome(enum.Enum):
    """The result of waiting so far."""

    REACHED = enum.auto()
    MISSED = enum.auto()
    """The awaited state cannot come any more."""
    OPEN = enum.auto()


def outcome(awaited: Awaited, job: Job | None) -> Outcome:
    """Return the outcome for a job as it is now. `None` is a job that is gone."""
    if awaited is Awaited.DELETED:
        return Outcome.REACHED if job is None else Outcome.OPEN
    if job is None or job.status.phase in (Phase.FAILED, Phase.INVALID):
        return Outcome.MISSED
    if job.status.phase is Phase.SUCCEEDED:
        return Outcome.REACHED
    if job.is_local and not job.is_run:
        # No capstanctl runs the job, so nothing will change.
        return Outcome.MISSED
    runs = job.status.phase is Phase.RUNNING and awaited is Awaited.RUNNING
    return Outcome.REACHED if runs else Outcome.OPEN


def sentence(awaited: Awaited, name: str, job: Job | None, result: Outcome) -> str:
    """Return the line that ends a wait."""
    if job is None:
        return f"{name}: {'is gone' if awaited is Awaited.DELETED else 'was deleted'}"
    if result is Outcome.OPEN:
        return f"{name}: {job.status.phase}; the time is over"
    return f"{name}: {job.status.phase}" + (f"  {why}" if (why := _why(job, result)) else "")


def _why(job: Job, result: Outcome) -> str:
    if result is Outcome.REACHED:
        return ""
    if job.status.phase is Phase.INVALID:
        messages = (shown.message for shown in job.status.conditions if shown.type == "Invalid")
        return next(messages, "")
    if job.status.phase is Phase.FAILED:
        return failures.of_job(job.status) or "for a reason that was not recorded"
    return "no capstanctl runs it; capstanctl run continues it"
