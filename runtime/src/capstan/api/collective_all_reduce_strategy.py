"""`tf.distribute.experimental.MultiWorkerMirroredStrategy`: workers that train in step.

Source: tensorflow/python/distribute/collective_all_reduce_strategy.py of 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cluster_resolver,
    cluster_strategy,
    collective_all_reduce,
    collective_ops,
    context,
    distribution_inputs,
    logging,
    mirrored_strategy,
    multi_worker,
    replicated_inputs,
    worker_sessions,
)
from capstan.core import dtypes
from capstan.framework import convert

__all__ = ["CollectiveAllReduceStrategy"]

_BROADCAST = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
"""The types of variables that get the initial value of the chief. Others have no random values."""


class CollectiveAllReduceStrategy(cluster_strategy.ClusterStrategy):
    """Trains replicas in step on the devices of several workers, each of which has all variables.

    TF_CONFIG gives the cluster, which has workers, perhaps with a chief, and no ps. Each worker
    runs the same program and has one replica on each of its GPUs, or one on its CPU. Collective
    operations add the gradients of all replicas. The variables start with the values of the chief.
    Without a cluster, and in an evaluator, the strategy is for the devices of this process.
    `local_devices` are the devices of a worker, by default its GPUs.

    Sessions are those of a server of the task. Start the server with
    `config=strategy.update_config_proto(tf.ConfigProto())`, which names the leader of the workers.
    `tf.estimator.train_and_evaluate` and Keras's `fit` do this themselves.

    Raises:
        AssertionError: `communication` is not a CollectiveCommunication.
        ValueError: the cluster does not have this task, or the task is not a chief, worker or
            evaluator.
    """

    def __init__(
        self,
        communication: collective_all_reduce.CollectiveCommunication = (
            collective_all_reduce.CollectiveCommunication.AUTO
        ),
        local_devices: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(communication, collective_all_reduce.CollectiveCommunication):
            raise AssertionError(  # noqa: TRY004 - what TensorFlow raises
                f"communication must be a CollectiveCommunication, not {communication!r}"
            )
        self._local = tuple(local_devices or mirrored_strategy.local_devices())
        super().__init__(cluster_resolver.TFConfigClusterResolver())

    def __deepcopy__(self, memo: Any) -> "CollectiveAllReduceStrategy":
        """Return this strategy: a copy of a RunConfig must not draw the same keys again."""
        return self

    @property
    def extended(self) -> "CollectiveExtended":
        """The parts of the strategy that libraries use."""
        assert isinstance(self._extended, CollectiveExtended)
        return self._extended

    def _extended_for(self, resolver: Any) -> "CollectiveExtended":
        return _extended(self, resolver, self._local)


def _extended(strategy: Any, resolver: Any, local: tuple[str, ...]) -> "CollectiveExtended":
    cluster = resolver.cluster_spec()
    task_type, task_id = resolver.task_type, resolver.task_id
    if not cluster.as_dict() or task_type == "evaluator":
        logging.info("Single-worker CollectiveAllReduceStrategy with local_devices = %r", local)
        return CollectiveExtended(strategy, local, _Place(None, task_type, task_id))
    if task_type is None or task_id is None:
        raise ValueError(
            "When `cluster_spec` is given, you must also specify `task_type` and `task_id`."
        )
    place = _Place(cluster, task_type, task_id)
    devices = tuple(f"{place.device}{device}" for device in local)
    logging.info(
        "Multi-worker CollectiveAllReduceStrategy with cluster_spec = %r, task_type = %r, "
        "task_id = %r, num_workers = %r, local_devices = %r",
        cluster.as_dict(), task_type, task_id, place.count, devices,
    )  # fmt: skip
    return CollectiveExtended(strategy, devices, place)


class _Place:
    """The place of this task among the workers."""

    def __init__(self, cluster: Any, task_type: str | None, task_id: int | None) -> None:
        self.cluster, self.task_type, self.task_id = cluster, task_type, task_id
        self.count, self.number, self.is_chief, self.leader, self.device = 1, 0, True, "", ""
        if cluster is not None:
            assert task_type is not None
            assert task_id is not None
            self.count = multi_worker.worker_count(cluster, task_type)
            self.number = multi_worker.id_in_cluster(cluster, task_type, task_id)
            self.is_chief = multi_worker.is_chief(cluster, task_type, task_id)
            self.leader = multi_worker.collective_leader(cluster, task_type, task_id)
            self.device = f"/job:{task_type}/task:{task_id}"


class CollectiveExtended(mirrored_strategy.MirroredExtended):
    """The parts of a `CollectiveAllReduceStrategy` for libraries."""

    experimental_between_graph = True

    def __init__(self, container_strategy: Any, devices: tuple[str, ...], place: _Place) -> None:
        self.place = place
        self._keys = collective_all_reduce.CollectiveKeys()
        super().__init__(
            container_strategy,
            mirrored_strategy.checked(devices),
            collective_all_reduce.CollectiveAllReduce(place.count, collective_keys=self._keys),
        )

    @property
    def default_device(self) -> str | None:
        """The task of operations without a device, or None without a cluster."""
        return self.place.device or None

    @property
    def num_replicas_in_sync(self) -> int:
        return len(self.worker_devices) * self.place.count

    @property
    def replica_numbers(self) -> tuple[int, ...]:
        """The numbers of this worker's replicas among all replicas."""
        count, first = self.place.count, self.place.number
        return tuple(first + count * place for place in range(len(self.worker_devices)))

    @property
    def num_workers(self) -> int:
        return self.place.count

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this worker saves checkpoints."""
        return self.place.is_chief

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """Whether this worker writes summaries."""
        return self.place.is_chief

    def input_context(self) -> distribution_inputs.InputContext:
        return distribution_inputs.InputContext(
            self.place.count, self.place.number, self.num_replicas_in_sync
        )

    def split_inputs(self, dataset: Any) -> Any:
        return replicated_inputs.SplitIterator(dataset, self.worker_devices, self._parts())

    def distributed_dataset(self, dataset: Any, is_split: bool) -> Any:
        """Return a dataset. If `is_split`, its batches are divided among all workers' replicas."""
        if not is_split:
            return super().distributed_dataset(dataset, is_split)
        return replicated_inputs.DistributedDataset(
            dataset,
            self.worker_devices,
            lambda source, devices: replicated_inputs.SplitIterator(source, devices, self._parts()),
        )

    def _parts(self) -> replicated_inputs.Parts:
        return replicated_inputs.Parts(self.num_replicas_in_sync, self.replica_numbers)

    def update_config(self, config_proto: Any) -> None:
        """Name the leader, and let the session see no other task than its own."""
        super().update_config(config_proto)
        if self.place.cluster is not None:
            config_proto.isolate_session_state = False
            config_proto.experimental.collective_group_leader = self.place.leader
            del config_proto.device_filters[:]
            config_proto.device_filters.append(self.place.device)

    def _reduced_alike(self, wanted: Any, value: Any, where: Any) -> Any:
        """Reduce the value of this worker's only replica over all workers."""
        if self.place.count == 1 or isinstance(value, int | float):
            return super()._reduced_alike(wanted, value, where)
        return self._cross_device_ops.reduce(wanted, value, where)

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable with a copy on each device, which starts with the chief's value."""
        if self.place.cluster is not None:
            worker_sessions.note(self._strategy)
        if self.place.count > 1:
            options["initial_value"] = self._from_chief(options)
        return super().create_variable(next_creator, **options)

    def _from_chief(self, options: dict[str, Any]) -> Any:
        """Return a function that makes the initial value: the chief's, in all workers."""
        given, dtype = options["initial_value"], options.get("dtype")
        key = self._keys.get_variable_instance_key()

        def initial_value() -> Any:
            value = convert.convert_to_tensor(given() if callable(given) else given, dtype=dtype)
            kind = value.dtype.base_dtype
            if kind not in _BROADCAST or not value.shape.is_fully_defined():
                return value
            device = self.worker_devices[0]
            group = self._keys.get_group_key([device])
            size = self.place.count
            with context.device(device):
                if not self.place.is_chief:
                    return collective_ops.broadcast_recv(value.shape, kind, size, group, key)
                here = array_ops.identity(value)
                sent = collective_ops.broadcast_send(here, here.shape, kind, size, group, key)
                with context.control_dependencies([sent]):
                    return array_ops.identity(here)

        return initial_value
