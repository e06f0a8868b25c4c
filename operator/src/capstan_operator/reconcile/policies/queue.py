"""Whether a job waits in a queue, and what that changes.

    pods of the job                              phase by the rows    phase
    some wait for the admission of the queue     Pending              Queued
    some wait for the admission of the queue     any other            the same
    none waits                                   any                  the same

A job that is Queued waits for quota, so its pendingDeadlineSeconds do not pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase
from capstan_operator.reconcile.observe import SCHEDULING_GATED, TaskView


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


def phase(by_rows: Phase, queued: Queued | None) -> Phase:
    """Return the phase of an unfinished job, whose rows alone stand for `by_rows`."""
    waits = queued is not None and bool(queued.tasks)
    return Phase.QUEUED if waits and by_rows is Phase.PENDING else by_rows


def _is_gated(view: TaskView) -> bool:
    return view.reason == SCHEDULING_GATED and not view.has_ended
