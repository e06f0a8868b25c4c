"""Which tasks of a job start together or not at all.

    spec.scheduling         tasks of the job                       the gang
    gang: None              any                                    none
    gang: Auto, a queue     any                                    none: the queue admits all tasks
    otherwise               one of them runs or ends               none: each task starts by itself
    otherwise               none of them runs, one is to come      none: it starts by itself
    otherwise               none of them runs, several are         all that are to come; of elastic
                            to come                                workers at least minReplicas

A gang is for the beginning of a job, for the restart of all its tasks, and for a job that continues
after a suspension. A single task that is restarted must not wait for tasks that have ended.

All tasks of a gang start in one pass. A task that started earlier could run before the others
start. Then the others would start by themselves, and a task that waits for the whole gang would
wait for ever.
"""

from collections.abc import Sequence

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import Gang, TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.reconcile.actions import Action, StartTask
from capstan_operator.reconcile.policies.phase import ALIVE, TO_COME


def size(job: TrainingJob, status: Status) -> int | None:
    """Return how many tasks must start together now. Return None if there is no gang."""
    wanted = job.spec.scheduling
    if wanted.gang is Gang.NONE or (wanted.gang is Gang.AUTO and wanted.queue_name is not None):
        return None
    if any(row.state in ALIVE for row in status.tasks):
        return None
    coming = [row.name for row in status.tasks if row.state in TO_COME]
    count = len(coming) - _spare(job, sum(task.type is ReplicaType.WORKER for task in coming))
    return count if count > 1 else None


def together(actions: Sequence[Action], status: Status, size: int) -> tuple[Action, ...]:
    """Return the actions of a pass without the starts that come too early for a gang of this size.

    A task starts when `size` tasks have an instance or start in the same pass. Until then, each
    pass asks again for its start.
    """
    there = sum(row.state in TO_COME and row.uid is not None for row in status.tasks)
    starts = sum(isinstance(action, StartTask) for action in actions)
    if there + starts >= size:
        return tuple(actions)
    return tuple(action for action in actions if not isinstance(action, StartTask))


def _spare(job: TrainingJob, workers: int) -> int:
    """Return how many of these workers may come later."""
    spec = job.spec.replica_specs.worker
    if spec is None or spec.min_replicas is None:
        return 0
    return max(workers - spec.min_replicas, 0)
