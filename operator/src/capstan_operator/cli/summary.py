"""Sentences about a status, for the table, for plain lines and for the end of a run."""

from datetime import datetime

from capstan_operator.api.status import Phase, Progress, Status, TaskState, TaskStatus
from capstan_operator.reconcile.actions import Announce
from capstan_operator.reconcile.policies import failure
from capstan_operator.report import failures


def last_line(name: str, status: Status) -> str:
    """Return the last line of a run: its results, or why it failed."""
    if status.phase is not Phase.SUCCEEDED:
        why = failures.of_job(status) or "for a reason that was not recorded"
        return f"{name}: {status.phase}  {why}"
    progress = status.progress or Progress(step=0)
    parts = [f"{name}: {status.phase}", *_metrics(progress), f"steps {progress.step}"]
    return "  ".join([*parts, f"restarts {restarts(status)}"])


def news_line(name: str, news: Announce) -> str:
    """Return a line of news. If it is about endless retries, it also says how to end them."""
    way_out = "; Ctrl-C ends the job" if news.reason == failure.CREATE_FAILED else ""
    return f"{name}: {news.message}{way_out}"


def restarts(status: Status) -> int:
    """Return the restarts charged to the two limits of the job, together."""
    return status.restarts.application + status.restarts.infrastructure


def progress_line(status: Status) -> str:
    """Return the progress: step, rate and metrics; empty before the first report."""
    progress = status.progress
    if progress is None:
        return ""
    parts = [f"step {progress.step}"]
    if progress.steps_per_second is not None:
        parts.append(f"{progress.steps_per_second:.1f} steps/s")
    return "  ".join([*parts, *_metrics(progress)])


def reason(row: TaskStatus, now: datetime) -> str:
    """Return why a task, or its last attempt, failed, or "" if it did not."""
    ended = row.reason if row.exit_code is None else f"exit code {row.exit_code}"
    match row.state:
        case TaskState.BACK_OFF | TaskState.CREATE_FAILED:
            wait = max(((row.retry_at or now) - now).total_seconds(), 0.0)
            return ": ".join(filter(None, [f"again in {wait:.0f} s", ended, failure.cause(row)]))
        case TaskState.FAILED:
            return ": ".join(filter(None, [ended, failure.cause(row)]))
        case TaskState.PENDING | TaskState.STARTING | TaskState.RUNNING if row.attempt > 1:
            return f"attempt {row.attempt - 1}: {ended}" if ended else ""
        case _:
            return ""


def _metrics(progress: Progress) -> list[str]:
    return [f"{name} {value:.3f}" for name, value in progress.metrics.items()]
