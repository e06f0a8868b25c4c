"""`tf.distribute.experimental.ParameterServerStrategy`: workers that train at their own pace.

Source: tensorflow/python/distribute/parameter_server_strategy.py of 2019.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from capstan.api import cluster_resolver as resolvers
from capstan.api import (
    cluster_strategy,
    context,
    distribution_extended,
    distribution_inputs,
    mirrored_strategy,
    multi_worker,
)
from capstan.core import cluster as clusters
from capstan.framework import graph as graphs

__all__ = ["ParameterServerStrategy"]


class ParameterServerStrategy(cluster_strategy.ClusterStrategy):
    """Puts variables on the ps tasks in turn, and the model on one device of this worker.

    No worker waits for another worker. `cluster_resolver` gives the cluster and this task. The
    default is TF_CONFIG. Without a cluster, and in an evaluator, variables and the model are on the
    same device. `local_device` is the device of the worker, by default its first GPU, or its CPU.
    Start a worker for each GPU: TensorFlow lets a worker use all GPUs of its machine.

    Sessions are those of a server of the task. Their settings are
    `strategy.update_config_proto(tf.ConfigProto())`, so a session does not wait for other workers.
    Estimators train so with and without a strategy. They find the cluster in TF_CONFIG.

    Raises:
        ValueError: the cluster of `cluster_resolver` is empty, the cluster has no ps, or the task
            is not known.
    """

    def __init__(self, cluster_resolver: Any = None, local_device: str | None = None) -> None:
        if cluster_resolver is None:
            cluster_resolver = resolvers.TFConfigClusterResolver()
        elif not clusters.ClusterSpec(cluster_resolver.cluster_spec()):
            raise ValueError("Cluster spec must be non-empty in `cluster_resolver`.")
        self._local = local_device or mirrored_strategy.local_devices()[0]
        super().__init__(cluster_resolver)

    @property
    def extended(self) -> "ParameterServerExtended":
        """The parts of the strategy that libraries use."""
        assert isinstance(self._extended, ParameterServerExtended)
        return self._extended

    def _extended_for(self, resolver: Any) -> "ParameterServerExtended":
        return _extended(self, resolver, self._local)


class Task(NamedTuple):
    """A task of a cluster."""

    cluster: clusters.ClusterSpec
    task_type: str
    task_id: int

    @property
    def name(self) -> str:
        return f"/job:{self.task_type}/task:{self.task_id}"


def _extended(strategy: Any, resolver: Any, device: str) -> "ParameterServerExtended":
    cluster = clusters.ClusterSpec(resolver.cluster_spec())
    task_type, task_id = resolver.task_type, resolver.task_id
    if not cluster or task_type == "evaluator":
        return ParameterServerExtended(strategy, device, None)
    if task_type is None or task_id is None:
        raise ValueError(
            "When `cluster_spec` is given, you must also specify `task_type` and `task_id`. Set "
            "them in TF_CONFIG or in the cluster resolver."
        )
    if "ps" not in cluster.jobs:
        raise ValueError(
            f"The cluster spec needs to have `ps` jobs, but it has {cluster.as_dict()}. Without "
            "parameter servers, use tf.distribute.experimental.MultiWorkerMirroredStrategy."
        )
    task = Task(cluster, task_type, task_id)
    return ParameterServerExtended(strategy, f"{task.name}{device}", task)


class ParameterServerExtended(distribution_extended.StrategyExtended):
    """The parts of a `ParameterServerStrategy` for libraries. `task` is None without a cluster."""

    experimental_between_graph = True
    allows_partitions = True

    def __init__(self, container_strategy: Any, device: str, task: Task | None) -> None:
        super().__init__(container_strategy, device)
        self.task = task
        self._numbers = itertools.count()

    @property
    def default_device(self) -> str | None:
        """The task of operations without a device, or None without a cluster."""
        return None if self.task is None else self.task.name

    @property
    def is_chief(self) -> bool:
        """Whether this worker initializes and saves the variables."""
        return self.task is None or multi_worker.is_chief(*self.task)

    @property
    def experimental_should_init(self) -> bool:  # type: ignore[override]
        return self.is_chief

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        return self.is_chief

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        return self.is_chief

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The tasks that have variables."""
        if self.task is None:
            return super().parameter_devices
        count = self.task.cluster.num_tasks("ps")
        return tuple(f"/job:ps/task:{number}" for number in range(count))

    def input_context(self) -> distribution_inputs.InputContext:
        """Return the number of this worker, and the number of workers."""
        if self.task is None:
            return super().input_context()
        return distribution_inputs.InputContext(
            multi_worker.worker_count(self.task.cluster, self.task.task_type),
            multi_worker.id_in_cluster(*self.task),
        )

    def update_config(self, config_proto: Any) -> None:
        """Let the session see no other tasks than this worker and the ps tasks."""
        config_proto.isolate_session_state = self.task is None
        if self.task is not None:
            del config_proto.device_filters[:]
            config_proto.device_filters.extend([self.task.name, "/job:ps"])

    def non_slot_devices(self, var_list: Iterable[Any]) -> Any:
        """Return the variable whose device has an optimizer's own variables."""
        return min(var_list, key=lambda var: var.name)

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable as a resource, on the next ps task.

        In a block of `colocate_with` it is beside another variable, as the slots of optimizers are.
        """
        with self._place(options.pop("colocate_with", None)):
            variable = next_creator(**{**options, "use_resource": True})
        variable._distribute_strategy = self._strategy
        return variable

    @contextmanager
    def _place(self, beside: Any) -> Iterator[None]:
        """Place the next variable, in a `with` block."""
        graph = graphs.get_default_graph()
        with ExitStack() as blocks:
            if beside is not None:
                blocks.enter_context(context.colocate_with(beside))
            elif not graph.is_colocated:
                devices = self.parameter_devices
                # Around it is the device of the replica. A ps may have no GPU.
                blocks.enter_context(graph.device(None))
                blocks.enter_context(graph.device(devices[next(self._numbers) % len(devices)]))
            yield

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: distribution_extended.Arguments = (),
        kwargs: distribution_extended.Keywords = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(var, *args, **kwargs)`, beside the variable."""
        return self.update_non_slot(var, fn, (var, *args), kwargs, group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: distribution_extended.Arguments = (),
        kwargs: distribution_extended.Keywords = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(*args, **kwargs)`, on the device of a variable."""
        return self._run_on(colocate_with.device, fn, args, kwargs, group)
