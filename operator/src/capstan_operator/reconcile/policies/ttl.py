"""The time at which a finished job is deleted: `ttlSecondsAfterFinished` after its end."""

from datetime import datetime, timedelta

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status


def ends_at(policy: RunPolicy, status: Status) -> datetime | None:
    """Return the time at which the job is deleted, or None if it stays."""
    seconds = policy.ttl_seconds_after_finished
    if seconds is None or status.completion_time is None:
        return None
    return status.completion_time + timedelta(seconds=seconds)
