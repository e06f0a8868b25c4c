"""Times that lie in the future: whoever wrote them had a clock that was ahead.

Deadlines and `ttlSecondsAfterFinished` count from times in the status. Another operator would wait
until its own clock has passed them, for years if the clock was wrong by years. The times of tasks
come from nodes. By the clock of a node that is ahead, a task would start after the steps that it
has made. Nothing has happened in the future, so such a time becomes the present.

A time that lies too far in the past cannot be told from a true one. Waits for another attempt have
a limit of their own (`policies.backoff`).
"""

import dataclasses
from datetime import datetime

from capstan_operator.api.status import Status, TaskStatus
from capstan_operator.reconcile.observe import TaskView

_TIMES = ("start_time", "pending_since", "completion_time", "last_transition_time")


def corrected(status: Status, now: datetime) -> Status:
    """Return the status with no time later than `now`. It is the same object if there is none."""
    update: dict[str, object] = {
        name: now for name in _TIMES if _is_ahead(getattr(status, name), now)
    }
    progress = status.progress
    if progress is not None and _is_ahead(progress.advanced_at, now):
        update["progress"] = progress.model_copy(update={"advanced_at": now})
    return status.model_copy(update=update) if update else status


def seen(view: TaskView, row: TaskStatus, now: datetime) -> TaskView:
    """Return the view of the instance of a row with no time later than `now`.

    A start in the future counts as a start at the time at which the operator first saw it.
    """
    started = view.started_at
    if started is not None:
        first_seen = row.started_at if row.uid == view.uid else None
        started = min(started, first_seen or now)
    finished = now if _is_ahead(view.finished_at, now) else view.finished_at
    silent = now if _is_ahead(view.silent_since, now) else view.silent_since
    if (started, finished, silent) == (view.started_at, view.finished_at, view.silent_since):
        return view
    return dataclasses.replace(view, started_at=started, finished_at=finished, silent_since=silent)


def _is_ahead(at: datetime | None, now: datetime) -> bool:
    return at is not None and at > now
