"""`strategy.extended` of the strategies with several replicas in one process.

Source: tensorflow/python/distribute/{distribute_lib,mirrored_strategy}.py of 2019.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    context,
    cross_device_ops,
    distributed_values,
    distribution_extended,
    distribution_modes,
    replica_threads,
    replicated_inputs,
    variables,
)
from capstan.api import distribution_replica as replicas
from capstan.framework import graph as graphs

Arguments = distribution_extended.Arguments
Keywords = distribution_extended.Keywords


class ReplicatedExtended(distribution_extended.StrategyExtended):
    """The parts for libraries of a strategy with a replica on each of `devices`.

    A subclass defines `create_variable`.
    """

    def __init__(
        self,
        container_strategy: Any,
        devices: Sequence[str],
        cross_device_ops: cross_device_ops.CrossDeviceOps,
    ) -> None:
        super().__init__(container_strategy, devices[0])
        self._devices = tuple(devices)
        self._cross_device_ops = cross_device_ops

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that run replicas."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that have variables."""
        return self._devices

    @property
    def num_replicas_in_sync(self) -> int:
        return len(self._devices)

    def local_results(self, value: Any) -> tuple[Any, ...]:
        return distributed_values.local_results(value)

    def split_inputs(self, dataset: Any) -> Any:
        """Return an iterator over a dataset, whose batches are divided among the replicas."""
        return replicated_inputs.SplitIterator(dataset, self._devices)

    def inputs_of(self, source: Any) -> Any:
        """Return an iterator over what an input function has returned."""
        return replicated_inputs.inputs_of(source, self._devices)

    def distributed_dataset(self, dataset: Any, is_split: bool) -> Any:
        """Return a dataset, whose batches are divided if `is_split`, or go to replicas in turn."""
        kind = replicated_inputs.SplitIterator if is_split else replicated_inputs.TurnsIterator
        return replicated_inputs.DistributedDataset(dataset, self._devices, kind)

    def update_config(self, config_proto: Any) -> None:
        config_proto.isolate_session_state = True

    def non_slot_devices(self, var_list: Iterable[Any]) -> Any:
        """Return the devices: each has a copy of an optimizer's own variables."""
        return self.parameter_devices

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Arguments = (), kwargs: Keywords = None
    ) -> Any:
        """Return the results of `fn` in all replicas, as a structure of PerReplica values.

        Each replica runs in a thread of its own, one at a time. Values of several replicas in the
        arguments become the value of the replica. An error of a replica is raised.

        Raises:
            RuntimeError: the call is in a replica, the replicas call `merge_call` differently
                often, or they make different variables.
        """
        distribution_modes.require_cross_replica(self._strategy)
        with self._strategy.scope():
            return replica_threads.call_for_each_replica(
                self._strategy, self._devices, fn, args, kwargs or {}
            )

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """Return the reduced value of all replicas, on the destinations.

        Destinations are a variable, values of several devices, a tensor or the name of a device.
        None is the current device.

        Raises:
            ValueError: there is no such reduction, or the sum of a value that is not one of
                several replicas is asked.
        """
        distribution_modes.require_cross_replica(self._strategy)
        wanted = replicas.reduction(reduce_op)
        where = self._devices[:1] if destinations is None else destinations
        if isinstance(value, distributed_values.DistributedValues):
            if value.is_mirrored and wanted is replicas.ReduceOp.MEAN:
                return value
            return self._cross_device_ops.reduce(wanted, value, where)
        return self._reduced_alike(wanted, value, where)

    def _reduced_alike(self, wanted: replicas.ReduceOp, value: Any, where: Any) -> Any:
        """Reduce a value that is the same in all replicas."""
        if isinstance(value, int | float) and value == 0:
            return 0
        if wanted is replicas.ReduceOp.MEAN:
            return value
        if self.num_replicas_in_sync > 1:
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
                f"{wanted}."
            )
        return cross_device_ops.mirrored(value, cross_device_ops.devices_of(where))

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Iterable[tuple[Any, Any]]
    ) -> list[Any]:
        """Return the reduced values of pairs. The errors are those of `reduce_to`."""
        distribution_modes.require_cross_replica(self._strategy)
        pairs = list(value_destination_pairs)
        for _, destinations in pairs:
            if isinstance(destinations, variables.Variable):
                self._check_is_own(destinations)
        return self._cross_device_ops.batch_reduce(reduce_op, pairs)

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Return copies of a tensor on the destinations, by default on the replicas' devices.

        A number is returned as it is.
        """
        distribution_modes.require_cross_replica(self._strategy)
        if isinstance(tensor, int | float):
            return tensor
        return self._cross_device_ops.broadcast(tensor, destinations or self._devices)

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Arguments = (),
        kwargs: Keywords = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(copy, *args, **kwargs)` for each copy of a variable, on the copy's device.

        Mirrored values in the arguments become the value on the device. The result is Mirrored, or
        one operation. Without `group`, each part is the tuple of the parts of all copies.

        Raises:
            TypeError: an argument differs between replicas.
            ValueError: the strategy did not make the variable.
        """
        distribution_modes.require_cross_replica(self._strategy)
        self._check_is_own(var)
        copies = distributed_values.local_results(var)
        calls = [(copy.device, (copy, *args)) for copy in copies]
        return self._updated(calls, fn, kwargs or {}, group)

    def _check_is_own(self, variable: Any) -> None:
        if not self.variable_created_in_scope(variable):
            raise ValueError(
                f"The strategy cannot change {variable!r}: make the variable in its scope, by "
                "`with strategy.scope()`."
            )

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Arguments = (),
        kwargs: Keywords = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(*args, **kwargs)` for each of the devices `colocate_with`, as `update` does."""
        distribution_modes.require_cross_replica(self._strategy)
        calls = [(device, tuple(args)) for device in colocate_with]
        return self._updated(calls, fn, kwargs or {}, group)

    def _updated(
        self, calls: Sequence[tuple[str, Any]], fn: Callable[..., Any], kwargs: Any, group: bool
    ) -> Any:
        updates = []
        for number, (device, args) in enumerate(calls):
            mode = distribution_modes.Mode(self._strategy, update_device=device)
            with (
                self._strategy.scope(),
                context.colocate_with(None, ignore_existing=True),
                context.device(device),
                distribution_modes.entered(mode),
                graphs.get_default_graph().name_scope(f"update_{number}"),
            ):
                selected = distributed_values.select_device_mirrored(device, args)
                options = distributed_values.select_device_mirrored(device, kwargs)
                updates.append(fn(*selected, **options))
        return distributed_values.regroup_updates([one for one, _ in calls], updates, group)

    def read_var(self, v: Any) -> Any:
        """Return the value of a variable, combined from all replicas if they have their own."""
        return array_ops.identity(v)

    def value_container(self, value: Any) -> Any:
        """Return the variable whose copy is `value`. Return any other value as it is."""
        return distributed_values.container_of(value)

    def loop_values(self, output: Any) -> Any:
        return list(self.local_results(output))

    def loop_result(self, values: Any) -> Any:
        return values[0] if len(values) == 1 else distributed_values.regroup(self._devices, values)
