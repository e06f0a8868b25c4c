"""What a task is told about its cluster: the environment contract with the runtime.

Source: `TF_CONFIG` as tf.estimator.RunConfig of TensorFlow 1.x reads it; genuine TensorFlow
understands it too. Always given, also in a job of one task.
"""

import json
from collections.abc import Callable

from capstan_operator.api.names import DEFAULT_PORT, ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob

Address = Callable[[TaskName], str]
"""`host:port` under which a task is reached by the others, the same over all its restarts."""


def port(job: TrainingJob) -> int:
    """Return the port that all tasks of a job on a cluster listen at."""
    return job.spec.cluster.port or DEFAULT_PORT


def members(job: TrainingJob) -> tuple[TaskName, ...]:
    """The tasks that need an address: all but the evaluator, which only reads checkpoints."""
    return tuple(task for task in job.tasks() if task.type is not ReplicaType.EVALUATOR)


def cluster_spec(job: TrainingJob, address: Address) -> dict[str, list[str]]:
    """Addresses by job name, in the order of the task indices. Types without tasks are left out."""
    spec: dict[str, list[str]] = {}
    for task in members(job):
        spec.setdefault(task.type.value, []).append(address(task))
    return spec


def tf_config(job: TrainingJob, task: TaskName, address: Address) -> str:
    """Return the value of `TF_CONFIG` for a task: one line of JSON."""
    return json.dumps(
        {
            "cluster": cluster_spec(job, address),
            "task": {"type": task.type.value, "index": task.index},
            "environment": "cloud",
        }
    )


def environment(
    job: TrainingJob,
    task: TaskName,
    *,
    attempt: int,
    epoch: int,
    address: Address,
    checkpoint_dir: str | None = None,
) -> dict[str, str]:
    """Return the variables that every container of a task gets besides its template's own."""
    variables = {
        "TF_CONFIG": tf_config(job, task, address),
        "CAPSTAN_EPOCH": str(epoch),
        "CAPSTAN_ATTEMPT": str(attempt),
    }
    if checkpoint_dir is not None:
        variables["CAPSTAN_CHECKPOINT_DIR"] = checkpoint_dir
    return variables
