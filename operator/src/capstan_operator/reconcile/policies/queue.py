"""Whether a job waits in a queue, and what that changes.

    pods that wait for the admission of the queue    tasks that run    phase
    some                                             none              Queued
    some                                             some              the phase by the rows
    none                                             any               the phase by the rows

A job that is Queued waits for quota, at its beginning or after a preemption, so its
pendingDeadlineSeconds do not pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, TaskStatus
from capstan_operator.reconcile.observe import SCHEDULING_GATED, TaskView
from capstan_operator.reconcile.policies.phase import ALIVE


@dataclass(frozen=True, slots=True)
class Queued:
    """The queue of a job, and the tasks whose pods wait for its admission."""

    queue: str
    tasks: tuple[TaskName, ...]


def find(job: TrainingJob, views: Iterable[TaskView]) -> Queued | None:
    """Return the queue of a job, or None. `views` are the current instances of its tasks."""
    name = job.spec.scheduling.queue_name
    if name is None:
        return None
    return Queued(name, tuple(view.name for view in views if _is_gated(view)))


def phase(by_rows: Phase, queued: Queued | None, rows: Iterable[TaskStatus]) -> Phase:
    """Return the phase of an unfinished job, whose rows alone stand for `by_rows`."""
    if queued is None or not queued.tasks or any(row.state in ALIVE for row in rows):
        return by_rows
    return Phase.QUEUED


def _is_gated(view: TaskView) -> bool:
    return view.reason == SCHEDULING_GATED and not view.has_ended
