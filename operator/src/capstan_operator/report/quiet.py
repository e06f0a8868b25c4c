"""Whether the training of a running job seems to stand still.

spec.runPolicy.progressDeadlineSeconds restarts such a job. Without this field a job may stand still
for ever while all its tasks run, and its user must be told. The limit here is a guess that restarts
nothing.
"""

from datetime import datetime
from typing import Final

from capstan_operator.api.status import Phase
from capstan_operator.report.job import Job

_SHORTEST_S: Final = 300.0
"""Evaluations, checkpoints and the first compilation may take minutes."""
_STEPS: Final = 10
"""A job with long steps is given the time of this many steps."""


def seconds(job: Job, now: datetime) -> float | None:
    """Return for how long a job shows no new step, or None if that is not long.

    The time begins with the last new step, or later when all tasks run again.
    """
    progress, running_since = job.status.progress, job.status.last_transition_time
    if job.status.phase is not Phase.RUNNING or progress is None or running_since is None:
        return None
    if progress.advanced_at is None:
        return None
    limit = _SHORTEST_S
    if progress.steps_per_second:
        limit = max(limit, _STEPS / progress.steps_per_second)
    found = (now - max(progress.advanced_at, running_since)).total_seconds()
    return found if found >= limit else None
