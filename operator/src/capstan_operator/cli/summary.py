"""Sentences about a status, the same in the table, in plain lines and at the end."""

from datetime import datetime

from capstan_operator.api.status import Phase, Progress, Status, TaskState, TaskStatus

_WORDS = 160
"""How many characters of a task's last words are shown while the job runs."""


def last_line(name: str, status: Status) -> str:
    """Return the line with which a run ends: what came out, or why it failed."""
    if status.phase is not Phase.SUCCEEDED:
        return f"{name}: {status.phase}  {status.failure or 'for a reason that was not recorded'}"
    progress = status.progress or Progress(step=0)
    parts = [f"{name}: {status.phase}", *_metrics(progress), f"steps {progress.step}"]
    return "  ".join([*parts, f"restarts {restarts(status)}"])


def restarts(status: Status) -> int:
    """Count the restarts of all tasks, of both kinds."""
    return status.restarts.application + status.restarts.infrastructure


def progress_line(status: Status) -> str:
    """Return how far the training is: step, rate and metrics; empty before the first report."""
    progress = status.progress
    if progress is None:
        return ""
    parts = [f"step {progress.step}"]
    if progress.steps_per_second is not None:
        parts.append(f"{progress.steps_per_second:.1f} steps/s")
    return "  ".join([*parts, *_metrics(progress)])


def reason(row: TaskStatus, now: datetime) -> str:
    """Say why a task is as it is, when that is not what it ought to be; else nothing."""
    failed = row.exit_code not in (None, 0) or row.reason
    parts: list[str] = []
    if failed and row.state is not TaskState.STOPPED:
        parts.append(row.reason if row.exit_code is None else f"exit code {row.exit_code}")
        if row.message and row.state is not TaskState.RUNNING:
            parts.append(row.message.splitlines()[-1][:_WORDS])
    text = ": ".join(filter(None, parts))
    if row.retry_at is None or row.state not in (TaskState.BACK_OFF, TaskState.CREATE_FAILED):
        return text
    wait = max((row.retry_at - now).total_seconds(), 0.0)
    return f"again in {wait:.0f} s; {text}" if text else f"again in {wait:.0f} s"


def _metrics(progress: Progress) -> list[str]:
    return [f"{name} {value:.3f}" for name, value in progress.metrics.items()]
