"""`tf.distribute.experimental.CentralStorageStrategy`, whose replicas share the variables.

Sources: central_storage_strategy.py and parameter_server_strategy.py of 2019, in
tensorflow/python/distribute.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import (
    cross_device_ops,
    distributed_values,
    distributed_variables,
    distribution_extended,
    distribution_strategy,
    mirrored_strategy,
    replicated_extended,
)
from capstan.framework import graph as graphs

__all__ = ["CentralStorageStrategy"]

_HOST = "/device:CPU:0"


class CentralStorageStrategy(distribution_strategy.Strategy):
    """Trains replicas in step, one on each device, with one copy of the variables.

    `compute_devices` are names such as `/gpu:0`, by default those of all GPUs of this process, or
    of the first CPU. `parameter_device` has the variables. By default it is the only compute
    device, or the first CPU if there are several compute devices.

    Raises:
        ValueError: the name of a device is not valid.
    """

    def __init__(
        self,
        compute_devices: Sequence[str] | None = None,
        parameter_device: str | None = None,
    ) -> None:
        devices = mirrored_strategy.checked(compute_devices or mirrored_strategy.local_devices())
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 else _HOST
        super().__init__(_CentralStorageExtended(self, devices, parameter_device))


class _CentralStorageExtended(replicated_extended.ReplicatedExtended):
    """The parts of a `CentralStorageStrategy` for libraries."""

    def __init__(
        self, container_strategy: Any, devices: Sequence[str], parameter_device: str
    ) -> None:
        super().__init__(container_strategy, devices, cross_device_ops.ReductionToOneDevice(_HOST))
        self._parameter_device = distributed_values.canonical(parameter_device)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device that has the variables."""
        return (self._parameter_device,)

    def non_slot_devices(self, var_list: Iterable[Any]) -> Any:
        """Return the variable whose device has an optimizer's own variables."""
        return min(var_list, key=lambda var: var.name)

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable on the device for variables. It combines the changes of all replicas."""
        beside = options.pop("colocate_with", None)
        aggregation, groups = options["aggregation"], options["collections"]
        is_shared = self.num_replicas_in_sync > 1
        if is_shared:
            options.update(collections=[])
        graph = graphs.get_default_graph()
        device = self._parameter_device if beside is None else beside.device
        with graph.colocate_with(None, ignore_existing=True), graph.device(device):
            variable = next_creator(**{**options, "use_resource": True})
        variable._distribute_strategy = self._strategy
        if not is_shared:
            return variable
        shared = distributed_variables.AggregatingVariable(
            self._strategy, [device], [variable], aggregation
        )
        mirrored_strategy.replace_in_collections(shared, groups)
        return shared

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: distribution_extended.Arguments = (),
        kwargs: distribution_extended.Keywords = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(*args, **kwargs)` on the device of `colocate_with`."""
        return super().update_non_slot([colocate_with.device], fn, args, kwargs, group)
