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
"""

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import Gang, TrainingJob
from capstan_operator.api.status import Status
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


def _spare(job: TrainingJob, workers: int) -> int:
    """Return how many of these workers may come later."""
    spec = job.spec.replica_specs.worker
    if spec is None or spec.min_replicas is None:
        return 0
    return max(workers - spec.min_replicas, 0)
