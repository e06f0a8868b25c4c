"""The environment of a task, which tells it about its cluster: the contract with the runtime.

Source: `TF_CONFIG` as tf.estimator.RunConfig of TensorFlow 1.x reads it, so that genuine TensorFlow
understands it, too. It is always set, also in a job of one task.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from capstan_operator.api.names import DEFAULT_PORT, ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob

Address = Callable[[TaskName], str]
"""Returns the `host:port` of a task, which stays the same over all its restarts."""


def port(job: TrainingJob) -> int:
    """Return the port that all tasks of a job on a cluster listen at."""
    return job.spec.cluster.port or DEFAULT_PORT


def members(job: TrainingJob) -> tuple[TaskName, ...]:
    """Return the tasks that need an address. The evaluator, which reads checkpoints, needs none."""
    return tuple(task for task in job.tasks() if task.type is not ReplicaType.EVALUATOR)


def cluster_spec(job: TrainingJob, address: Address) -> dict[str, list[str]]:
    """Return the addresses by replica type, in the order of the task indices.

    Types without tasks are left out.
    """
    spec: dict[str, list[str]] = {}
    for task in members(job):
        spec.setdefault(task.type.value, []).append(address(task))
    return spec


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that the operator adds to every container of a job's tasks.

    Call `environment` once per job and pass. `cluster` is the same for all tasks, and to serialise
    it again for each of N tasks would take N times as long.
    """

    cluster: str
    """The `cluster` of `TF_CONFIG`, as JSON."""
    checkpoint_dir: str | None
    cluster_file: str | None
    tls_dir: str | None = None

    def of(self, task: TaskName, *, attempt: int, epoch: int) -> dict[str, str]:
        """Return the variables of one attempt of a task, by name."""
        variables = {
            "TF_CONFIG": self.tf_config(task),
            "CAPSTAN_EPOCH": str(epoch),
            "CAPSTAN_ATTEMPT": str(attempt),
        }
        if self.cluster_file is not None:
            variables["CAPSTAN_CLUSTER_FILE"] = self.cluster_file
        if self.checkpoint_dir is not None:
            variables["CAPSTAN_CHECKPOINT_DIR"] = self.checkpoint_dir
        if self.tls_dir is not None:
            variables["CAPSTAN_TLS_DIR"] = self.tls_dir
        return variables

    def tf_config(self, task: TaskName) -> str:
        """Return the value of `TF_CONFIG` for a task: one line of JSON."""
        this_task = json.dumps({"type": task.type.value, "index": task.index})
        return f'{{"cluster": {self.cluster}, "task": {this_task}, "environment": "cloud"}}'


def environment(
    job: TrainingJob,
    address: Address,
    checkpoint_dir: str | None = None,
    cluster_file: str | None = None,
    tls_dir: str | None = None,
) -> Environment:
    """Return the environment of a job's tasks. Calls `address` once for each member."""
    spec = json.dumps(cluster_spec(job, address))
    return Environment(spec, checkpoint_dir, cluster_file, tls_dir)
