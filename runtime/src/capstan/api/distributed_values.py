"""The values that the replicas of a strategy compute, one for each device.

Source: tensorflow/python/distribute/values.py of 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, context, distribution_modes, nest
from capstan.core import devices as names
from capstan.core import dtypes
from capstan.framework import convert, grouping, operand
from capstan.framework import graph as graphs

__all__ = ["DistributedValues", "Mirrored", "PerReplica"]

_FIRST_CPU = "/replica:0/task:0/device:CPU:0"


def canonical(device: str) -> str:
    """Return the full name of a device. Missing fields are those of the first CPU.

    Raises:
        ValueError: `device` is not a name.
    """
    return names.parse(_FIRST_CPU).merged(names.parse(device)).to_string()


class DistributedValues:
    """A value for each device of a strategy. The n-th value belongs to the n-th device."""

    def __init__(self, devices: Sequence[str], values: Sequence[Any]) -> None:
        self._devices = tuple(devices)
        self._values = tuple(values)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices, in the order of the replicas."""
        return self._devices

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        return self._values

    @property
    def primary(self) -> Any:
        """The value of the first replica."""
        return self._values[0]

    is_mirrored = False
    """Whether the values are copies of one value."""

    def get(self, device: str | None = None) -> Any:
        """Return the value on a device, by default on the device for which the graph is built.

        Raises:
            ValueError: no value is on the device, or the graph is built for all replicas.
        """
        if device is not None:
            return self._on(canonical(device))
        mode = distribution_modes.current()
        if mode is not None and mode.update_device is not None:
            return self._on(mode.update_device)
        if mode is not None and mode.replica is None:
            return self._for_all_replicas()
        number = 0 if mode is None else mode.replica.replica_index
        return self._values[number if len(self._values) > 1 else 0]

    def _for_all_replicas(self) -> Any:
        raise ValueError(
            f"{type(self).__name__} has a value for each replica, and no value for all of them. "
            "Reduce it with `strategy.reduce`, or take the values with "
            "`strategy.experimental_local_results`."
        )

    def _on(self, device: str) -> Any:
        if device not in self._devices:
            raise ValueError(
                f"Device {device} not found in {self._devices} (current device {device})"
            )
        return self._values[self._devices.index(device)]

    def __repr__(self) -> str:
        parts = ",\n".join(
            f"  {number} {device}: {value!r}"
            for number, (device, value) in enumerate(zip(self._devices, self._values, strict=True))
        )
        return f"{type(self).__name__}:{{\n{parts}\n}}"


class PerReplica(DistributedValues):
    """A value for each replica. The values may differ."""


class Mirrored(DistributedValues, operand.Operand):
    """Copies of one value, one for each replica. An op that takes it gets the nearest copy."""

    is_mirrored = True

    def _for_all_replicas(self) -> Any:
        return self.primary

    @property
    def op(self) -> Any:
        """The operation of the nearest copy."""
        return self.get().op

    @property
    def dtype(self) -> dtypes.DType:
        dtype: dtypes.DType = self.primary.dtype
        return dtype

    @property
    def shape(self) -> Any:
        return self.primary.shape

    @property
    def graph(self) -> Any:
        return self.primary.graph

    def _as_tensor(
        self, dtype: dtypes.DType | None, name: str | None, as_ref: bool
    ) -> graphs.Tensor:
        return convert.convert_to_tensor(self.get(), dtype, name, as_ref=as_ref)

    def _as_graph_element(self) -> Any:
        found = self.get()
        return found._as_graph_element() if hasattr(found, "_as_graph_element") else found


def regroup(
    devices: Sequence[str],
    values: Sequence[Any],
    wrap: Callable[[Sequence[str], Sequence[Any]], Any] = PerReplica,
) -> Any:
    """Return the structure of the replicas' structures, with `wrap(devices, leaves)` as leaves.

    A leaf that is the same object in all replicas stays as it is. The copies of a variable become
    the variable.

    Raises:
        ValueError: the replicas have different structures.
    """
    first = values[0]
    if nest.is_nested(first):
        for value in values[1:]:
            nest.assert_same_structure(first, value)
        columns = zip(*map(nest.flatten, values), strict=True)
        return nest.pack_sequence_as(first, [regroup(devices, one, wrap) for one in columns])
    container = container_of(first)
    if container is not first:
        return container
    if all(value is first for value in values):
        return first
    return wrap(devices, values)


def container_of(value: Any) -> Any:
    """Return the variable whose copy is `value`. Return any other value as it is."""
    reference = getattr(value, "_distributed_container", None)
    container = None if reference is None else reference()
    return value if container is None else container


def first_copy(variable: Any) -> Any:
    """Return the first copy of a variable. A variable without copies is the only one."""
    return variable.primary if isinstance(variable, DistributedValues) else variable


def copy_beside(variable: Any, other: Any) -> Any:
    """Return the copy of a variable that has the place of `other` among its copies.

    Return the variable if `other` is not a copy.
    """
    container = container_of(other)
    if container is other or not isinstance(variable, DistributedValues):
        return variable
    number = next(index for index, copy in enumerate(container.values) if copy is other)
    return variable.values[number]


def select_replica(number: int, structure: Any) -> Any:
    """Return the structure of a replica: each DistributedValues becomes the replica's value.

    A variable stays as it is, because each replica finds its copy.
    """

    def select(value: Any) -> Any:
        is_plain = isinstance(value, PerReplica | Mirrored)
        return value.values[number if len(value.values) > 1 else 0] if is_plain else value

    return nest.map_structure(select, structure)


def select_device_mirrored(device: str, structure: Any) -> Any:
    """Return the structure of a device: each Mirrored value becomes the copy on the device.

    Raises:
        TypeError: a value differs between replicas.
    """

    def select(value: Any) -> Any:
        if isinstance(value, DistributedValues) and not value.is_mirrored:
            raise TypeError(
                f"Expected value to be mirrored across replicas: {value} in {structure}."
            )
        return value.get(device) if isinstance(value, DistributedValues) else value

    return nest.map_structure(select, structure)


def regroup_updates(devices: Sequence[str], updates: Sequence[Any], is_grouped: bool) -> Any:
    """Return the results of the updates of all copies.

    If `is_grouped`, a tensor of the result waits for all updates, and operations become one
    operation. Otherwise the leaves are tuples.
    """
    if not is_grouped:
        return nest.map_structure(local_results, regroup(devices, updates, Mirrored))
    return regroup(devices, updates, _grouped)


def local_results(value: Any) -> tuple[Any, ...]:
    """Return the values of all replicas, or the only value in a tuple."""
    return value.values if isinstance(value, DistributedValues) else (value,)


def group(values: Sequence[Any]) -> graphs.Operation:
    """Return an operation that runs operations of several devices, which are not colocated."""
    with context.colocate_with(None, ignore_existing=True):
        return grouping.group(*values)


def _grouped(devices: Sequence[str], values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return Mirrored(devices, values)
    all_updates = group(values)
    if not all(hasattr(value, "dtype") for value in values):
        return all_updates
    copies = []
    for device, value in zip(devices, values, strict=True):
        with (
            context.colocate_with(None, ignore_existing=True),
            context.device(device),
            context.control_dependencies([all_updates]),
        ):
            copies.append(array_ops.identity(value))
    return Mirrored(devices, copies)
