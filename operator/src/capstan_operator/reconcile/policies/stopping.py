"""The order in which the tasks of a suspended job are stopped, so that no training step is lost.

    1. the workers and the evaluator, except the task of the second row
    2. the chief, or worker 0 without a chief: it saves a checkpoint when it is asked to end
    3. the parameter servers: they hold the variables that are saved

A group is stopped when no task of the groups before it runs any more.
"""

from collections.abc import Collection

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.reconcile.policies import reporter


def next_group(job: TrainingJob, running: Collection[TaskName]) -> frozenset[TaskName]:
    """Return which of the running tasks are stopped now. Empty if none runs."""
    saver = reporter.of(job)
    ranks = {task: _rank(task, saver) for task in running}
    first = min(ranks.values(), default=0)
    return frozenset(task for task, rank in ranks.items() if rank == first)


def _rank(task: TaskName, saver: TaskName) -> int:
    if task.type is ReplicaType.PS:
        return 3
    return 2 if task == saver else 1
