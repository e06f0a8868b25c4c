"""Times in a status that lie in the future: whoever wrote them had a clock that was ahead.

Deadlines and `ttlSecondsAfterFinished` count from these times. The next operator would wait until
its own clock has passed them, for years if the clock was wrong by years. Nothing has happened in
the future, so such a time becomes the present.

A time that lies too far in the past cannot be told from a true one. Waits for another attempt have
a limit of their own (`policies.backoff`).
"""

from datetime import datetime

from capstan_operator.api.status import Status

_TIMES = ("start_time", "pending_since", "completion_time", "last_transition_time")


def corrected(status: Status, now: datetime) -> Status:
    """Return the status with no time later than `now`. It is the same object if there is none."""
    update: dict[str, object] = {name: now for name in _TIMES if _is_ahead(status, name, now)}
    progress = status.progress
    if progress is not None and _is_ahead(progress, "advanced_at", now):
        update["progress"] = progress.model_copy(update={"advanced_at": now})
    return status.model_copy(update=update) if update else status


def _is_ahead(model: object, name: str, now: datetime) -> bool:
    at = getattr(model, name)
    return at is not None and at > now
