"""`tf.distribute.MirroredStrategy`, which trains replicas in step on several devices of a host.

Source: tensorflow/python/distribute/mirrored_strategy.py of 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    all_reduce_ops,
    array_ops,
    cluster_resolver,
    cross_device_ops,
    distributed_variables,
    distribution_strategy,
    eager_context,
    replicated_extended,
    sync_on_read_variables,
    variable_arguments,
    variable_replicas,
)
from capstan.api import distributed_values as values_
from capstan.core import devices as names
from capstan.framework import collections as keys
from capstan.framework import graph as graphs

__all__ = ["MirroredStrategy"]

_WORKERS = ("chief", "master", "worker")


class MirroredStrategy(distribution_strategy.Strategy):
    """Trains replicas in step, one on each device, with copies of all variables on each device.

    `experimental_run_v2(fn)` calls `fn` once for each replica. An optimizer adds the gradients of
    all replicas, and changes all copies. Divide the loss of an example by the size of the whole
    batch, and not by the size of the part of a replica.

    `devices` are names such as `/gpu:0`. By default they are all GPUs of this process, or the first
    CPU if there are none. Where TF_CONFIG describes a cluster of one worker, they are the GPUs of
    this worker. `cross_device_ops` reduces values over devices. By default it is an `NcclAllReduce`
    if all devices are GPUs, and a `ReductionToOneDevice` otherwise.

    Raises:
        AssertionError: a device is named twice.
        ValueError: the name of a device is not valid, some but not all devices name a job, or there
            are several workers.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        cross_device_ops: cross_device_ops.CrossDeviceOps | None = None,
    ) -> None:
        found = checked(devices or _default_devices())
        super().__init__(
            MirroredExtended(self, found, cross_device_ops or best_cross_device_ops(found))
        )


class MirroredExtended(replicated_extended.ReplicatedExtended):
    """The parts of a `MirroredStrategy` for libraries."""

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable with a copy on each device.

        Raises:
            ValueError: the variable is not synchronized, or it is beside a variable that the
                strategy did not make.
        """
        beside = options.pop("colocate_with", None)
        if beside is not None and not self.variable_created_in_scope(beside):
            raise ValueError(
                "`colocate_vars_with` must only be passed a variable created in this "
                f"tf.distribute.Strategy.scope(), not: {beside!r}"
            )
        when = options.get("synchronization")
        if when is variable_replicas.VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with `Mirrored` "
                "distribution strategy. Please change the `synchronization` for variable: "
                f"{options.get('name')}"
            )
        is_read = when is variable_replicas.VariableSynchronization.ON_READ
        kind = (
            sync_on_read_variables.SyncOnReadVariable
            if is_read
            else distributed_variables.MirroredVariable
        )
        aggregation = options.pop("aggregation")
        groups = options.pop("collections", None)
        options.update(caching_device=None, use_resource=True, collections=[])
        devices = self.worker_devices if beside is None else beside.devices
        copies = copies_on(devices, next_creator, options)
        variable = kind(self._strategy, devices, copies, aggregation)
        replace_in_collections(variable, groups)
        return variable


def copies_on(
    devices: Sequence[str], next_creator: Callable[..., Any], options: dict[str, Any]
) -> list[Any]:
    """Return a variable for each device. The initial values are that of the first."""
    graph = graphs.get_default_graph()
    copies: list[Any] = []
    for number, device in enumerate(devices):
        if number:
            # A name with a final slash is a full name, whatever name scope is open.
            options = {
                **options,
                "name": f"{copies[0].op.name}/replica_{number}/",
                "initial_value": lambda: array_ops.identity(copies[0].initial_value),
            }
        with graph.colocate_with(None, ignore_existing=True), graph.device(device):
            copies.append(next_creator(**options))
    return copies


def replace_in_collections(variable: Any, groups: Sequence[str] | None) -> None:
    """Put a variable into collections, where its copies then are not."""
    graph = graphs.get_default_graph()
    trained = graph.get_collection_ref(keys.GraphKeys.TRAINABLE_VARIABLES)
    trained[:] = [one for one in trained if values_.container_of(one) is not variable]
    graph.add_to_collections(
        variable_arguments.collection_keys(groups, variable.trainable), variable
    )


def checked(devices: Sequence[str]) -> tuple[str, ...]:
    """Return the full names of devices.

    Raises:
        AssertionError: a device is named twice.
        ValueError: some but not all of them name a job, or they belong to several tasks.
    """
    found = tuple(map(values_.canonical, devices))
    if len(set(found)) < len(found):
        raise AssertionError(f"No duplicates allowed in `devices` argument: {found}")
    jobs = {names.parse(device).job in (None, "localhost") for device in found}
    if len(jobs) > 1:
        raise ValueError(
            "Local device string cannot have job specified other than 'localhost', and remote "
            f"device string must have job specified: {found}"
        )
    tasks = {(names.parse(device).job, names.parse(device).task) for device in found}
    if len(tasks) > 1:
        raise ValueError(
            "In-graph multi-worker training with `MirroredStrategy` is not supported: "
            f"{found} are devices of several tasks."
        )
    return found


def best_cross_device_ops(devices: Sequence[str]) -> cross_device_ops.CrossDeviceOps:
    """Return NcclAllReduce if all devices are GPUs, or ReductionToOneDevice."""
    kinds = {names.parse(device).device_type for device in devices}
    return (
        all_reduce_ops.NcclAllReduce()
        if kinds == {"GPU"}
        else cross_device_ops.ReductionToOneDevice()
    )


def local_devices() -> tuple[str, ...]:
    """Return the names of the GPUs of this process, or that of the first CPU."""
    gpus = tuple(f"/device:GPU:{number}" for number in range(eager_context.num_gpus()))
    return gpus or ("/device:CPU:0",)


def _default_devices() -> tuple[str, ...]:
    """Return the local devices, with the task of TF_CONFIG if it describes a cluster."""
    resolver = cluster_resolver.TFConfigClusterResolver()
    # An evaluator is no task of the cluster.
    cluster = {} if resolver.task_type == "evaluator" else resolver.cluster_spec().as_dict()
    tasks = [
        f"/job:{job}/task:{number}"
        for job in _WORKERS
        for number in range(len(cluster.get(job, ())))
    ]
    return tuple(f"{task}{device}" for task in tasks or [""] for device in local_devices())
