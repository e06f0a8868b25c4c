"""Which instance of a task is current.

An instance is current if and only if it has the attempt of the task's row, and the uid of the row
unless the row has no uid yet. Every other instance is stale. A stale instance is stopped, and
nothing that it does counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.observe import InstanceState, TaskView


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of one task: the current one, and the stale ones."""

    current: TaskView | None = None
    stale: tuple[TaskView, ...] = ()


def sort(row: TaskStatus, views: Iterable[TaskView]) -> Instances:
    """Return the current instance of a task and its stale ones."""
    views = tuple(views)
    current = next((view for view in views if _is_current(row, view)), None)
    return Instances(current, tuple(view for view in views if view is not current))


def _is_current(row: TaskStatus, view: TaskView) -> bool:
    if view.attempt != row.attempt or row.uid not in (None, view.uid):
        return False
    return view.state is not InstanceState.OF_DELETED_JOB
