"""The tasks that must exit with code 0 for the job to succeed.

Default      the chief; worker 0 where there is no chief
AllWorkers   every worker, and the chief where there is one: it saves the last checkpoint
"""

from collections.abc import Iterable

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import SuccessPolicy, TrainingJob
from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.reconcile import words


def needed(job: TrainingJob) -> frozenset[TaskName]:
    """Return the tasks that must all succeed. Never empty for a valid job."""
    trainers = [
        task for task in job.tasks() if task.type in (ReplicaType.CHIEF, ReplicaType.WORKER)
    ]
    match job.spec.success_policy:
        case SuccessPolicy.DEFAULT:
            return frozenset(trainers[:1])
        case SuccessPolicy.ALL_WORKERS:
            return frozenset(trainers)


def is_done(job: TrainingJob, rows: Iterable[TaskStatus]) -> bool:
    succeeded = {row.name for row in rows if row.state is TaskState.SUCCEEDED}
    return needed(job) <= succeeded


def never_ran(rows: Iterable[TaskStatus]) -> str:
    """Return the end of a sentence, which names the workers that never ran, or "" if all ran.

    A job may succeed although a worker never got a node, because it does not need the worker.
    """
    workers = (row for row in rows if row.name.type is ReplicaType.WORKER)
    never = [str(row.name) for row in workers if _is_new(row)]
    return f"; {words.listed(never)} never ran" if never else ""


def _is_new(row: TaskStatus) -> bool:
    """Return whether no attempt of a task has run."""
    return row.started_at is None and row.attempt - row.refused == 1 and row.exit_code is None
