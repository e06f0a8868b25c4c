"""The task that saves the checkpoints of a job and reports its progress: the chief, or worker 0."""

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob


def of(job: TrainingJob) -> TaskName:
    """Return the chief, or worker 0 if the job has no chief."""
    trainers = (ReplicaType.CHIEF, ReplicaType.WORKER)
    return next(task for task in job.tasks() if task.type in trainers)
