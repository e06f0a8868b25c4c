"""`tf.distribute.cluster_resolver`: the cluster of a task, from its environment or the program.

Source: tensorflow/python/distribute/cluster_resolver of 2019.
"""

import os
from collections.abc import Mapping
from typing import Any

from capstan.api.absent import absent
from capstan.api.slurm_resolver import SlurmClusterResolver
from capstan.api.task_resolver import ClusterResolver, with_protocol
from capstan.api.tpu_resolver import TPUClusterResolver
from capstan.core import cluster

__all__ = [
    "ClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver", "TFConfigClusterResolver",
    "TPUClusterResolver", "UnionResolver",
]  # fmt: skip


class SimpleClusterResolver(ClusterResolver):
    """Holds the cluster, the task and the target that the program gives.

    Raises:
        TypeError: `cluster_spec` is not a ClusterSpec, or `master` is not a string.
    """

    def __init__(
        self,
        cluster_spec: cluster.ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        for name, value, kind in (
            ("cluster_spec", cluster_spec, cluster.ClusterSpec),
            ("master", master, str),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, not {value!r}")
        self._cluster = cluster_spec
        self._master = master
        self._accelerators = num_accelerators
        self.task_type = task_type
        self.task_id = task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> cluster.ClusterSpec:
        return self._cluster

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the target of a task, or the given `master` if the arguments name no task."""
        if task_type is not None and task_id is not None:
            return self._target(task_type, task_id, rpc_layer)
        return with_protocol(self._master, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """Return the given numbers of accelerators. The arguments have no effect."""
        return {} if self._accelerators is None else self._accelerators


class UnionResolver(ClusterResolver):
    """Holds the tasks of several resolvers. Its task and target are those of the first one.

    The keyword arguments `task_type`, `task_id` and `rpc_layer` override those of the first one. An
    empty text or 0 overrides nothing, as in TensorFlow.

    Raises:
        ValueError: there are no resolvers, or other keyword arguments.
        TypeError: an argument is not a ClusterResolver.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        first_of = ("task_type", "task_id", "rpc_layer")
        unknown = {name: value for name, value in kwargs.items() if name not in first_of}
        if unknown:
            raise ValueError(f"Unexpected kwargs provided {unknown!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        resolvers: tuple[Any, ...] = args
        for each in resolvers:
            if not isinstance(each, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args
        self.task_type = kwargs.get("task_type") or args[0].task_type
        self.task_id = kwargs.get("task_id") or args[0].task_id
        self.rpc_layer = kwargs.get("rpc_layer") or args[0].rpc_layer
        self.environment = args[0].environment

    def cluster_spec(self) -> cluster.ClusterSpec:
        """Return the tasks of all clusters.

        The lists of a job are joined. If one of the clusters has a dictionary for a job, the
        indices of the job stay as they are.

        Raises:
            KeyError: two clusters have one index of such a job.
        """
        parts: dict[str, list[Any]] = {}
        for each in self._resolvers:
            for job, tasks in each.cluster_spec().as_dict().items():
                parts.setdefault(job, []).append(tasks)
        return cluster.ClusterSpec({job: _merged(tasks) for job, tasks in parts.items()})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the target of a task, or that of the first resolver."""
        if task_type is not None and task_id is not None:
            return self._target(task_type, task_id, rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """Return the numbers of devices that the first resolver finds."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _merged(parts: list[Any]) -> Any:
    """Return the tasks of one job in several clusters, each a list or a dictionary."""
    if all(isinstance(tasks, list) for tasks in parts):
        return [address for tasks in parts for address in tasks]
    merged: dict[int, str] = {}
    for tasks in parts:
        numbered = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
        twice = merged.keys() & numbered.keys()
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {twice}")
        merged.update(numbered)
    return merged


class TFConfigClusterResolver(ClusterResolver):
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
        return self._target(job, index, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """Return how many devices of each type a task has. The default is this task.

        Raises:
            OpError: the task cannot be reached.
        """
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        return super().num_accelerators(job, index, config_proto)


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute.cluster_resolver", name)
