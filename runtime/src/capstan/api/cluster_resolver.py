"""`tf.distribute.cluster_resolver`: what cluster a task is in, by its environment."""

import os

from capstan.core import cluster

__all__ = ["TFConfigClusterResolver"]


class TFConfigClusterResolver:
    """Reads the environment variable TF_CONFIG, once, when it is made.

    What is given overrules what the variable says. In an environment without it the cluster is
    empty, and type and index are None.

    Raises:
        ValueError: TF_CONFIG is not JSON, or names a task outside its cluster; all faults at once.
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
        """Return the target of a session with a task's master, this task's where none is given.

        It is empty where there is no cluster, or one of a single task.

        Raises:
            ValueError: no such job or task, or neither given nor in TF_CONFIG.
        """
        tasks = sum(self._cluster.num_tasks(job) for job in self._cluster.jobs)
        if tasks <= 1:
            return ""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            raise ValueError("TF_CONFIG names no task: give task_type and task_id")
        return f"{rpc_layer or self.rpc_layer}://{self._cluster.task_address(job, index)}"
