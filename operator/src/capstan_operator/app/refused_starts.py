"""Starts that the API server refused, kept until `plan` has entered them in the status.

They need not survive this process: the next process tries the same starts, and is refused again.
"""

from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Obstacle, TaskPhase, TaskView


class RefusedStarts:
    """The refused starts of all jobs, as views of tasks that failed at once."""

    def __init__(self) -> None:
        self._views: dict[Key, tuple[Uid, dict[TaskName, TaskView]]] = {}

    def of(self, key: Key, job: Uid) -> tuple[TaskView, ...]:
        """Return the refused starts of a job."""
        return tuple(self._of(key, job).values())

    def add(self, key: Key, job: Uid, start: StartTask, why: Obstacle, at: datetime) -> None:
        """Remember a refused start. The task's row will show the reason and message of `why`."""
        self._of(key, job)[start.task] = TaskView(
            name=start.task,
            attempt=start.attempt,
            uid=Uid(f"refused-{start.attempt}"),
            phase=TaskPhase.FAILED,
            reason=why.reason,
            message=why.message,
            finished_at=at,
        )

    def clear(self, key: Key, job: Uid, stop: StopTask) -> bool:
        """Forget the refused start that `stop` names. Return whether it was remembered."""
        views = self._of(key, job)
        if stop.task not in views or views[stop.task].uid != stop.uid:
            return False
        del views[stop.task]
        return True

    def forget(self, key: Key) -> None:
        """Forget all refused starts of a job."""
        self._views.pop(key, None)

    def _of(self, key: Key, job: Uid) -> dict[TaskName, TaskView]:
        """Return the views of this job. Drop the views of a deleted job of the same name."""
        known, views = self._views.get(key, (job, {}))
        if known != job:
            views = {}
        self._views[key] = job, views
        return views
