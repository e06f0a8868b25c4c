"""`tf.distribute.cluster_resolver`: reading the cluster of a task from its environment."""

import os
from typing import Any

from capstan.api.absent import absent
from capstan.core import cluster

__all__ = ["TFConfigClusterResolver"]


class TFConfigClusterResolver:
    """Holds the cluster and the task that TF_CONFIG names.

    The constructor reads the environment variable once. Its arguments override TF_CONFIG. If
    TF_CONFIG is not set, the cluster is empty, and the task's type and index are None.

    Raises:
        ValueError: TF_CONFIG is not JSON, or names a task outside its cluster. The message lists
            all faults.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = cluster.from_tf_config(os.environ.get("TF_CONFIG", ""))
        self._cluster = config.cluster
        self.task_type = task_type or config.task_type
        self.task_id = task_id
        if task_id is None and config.task_type is not None:
            self.task_id = config.task_index
        self.rpc_layer = rpc_layer or "grpc"
        self.environment = environment or config.environment

    def cluster_spec(self) -> cluster.ClusterSpec:
        return self._cluster

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the session target of a task's master. The default is this task.

        The target is empty if the cluster has at most one task.

        Raises:
            ValueError: there is no such job or task, or neither the arguments nor TF_CONFIG name
                a task.
        """
        tasks = sum(self._cluster.num_tasks(job) for job in self._cluster.jobs)
        if tasks <= 1:
            return ""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            raise ValueError("TF_CONFIG names no task: give task_type and task_id")
        return f"{rpc_layer or self.rpc_layer}://{self._cluster.task_address(job, index)}"


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute.cluster_resolver", name)
