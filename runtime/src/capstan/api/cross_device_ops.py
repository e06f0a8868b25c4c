"""`tf.distribute.CrossDeviceOps`: reductions of values of several devices, and copies of values.

Source: tensorflow/python/distribute/cross_device_ops.py of 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, context, math_ops, variables
from capstan.api import distributed_values as values_
from capstan.api import distribution_replica as replicas
from capstan.framework import convert, indexed_slices
from capstan.framework import graph as graphs

__all__ = ["CrossDeviceOps", "ReductionToOneDevice"]

Pairs = Sequence[tuple[Any, Any]]


class CrossDeviceOps:
    """Reduces values of several devices, and copies values to devices.

    A subclass overrides `reduce_implementation` and `batch_reduce_implementation`. It may override
    `broadcast_implementation`. Destinations are values of several devices, a variable, a tensor, or
    the name of a device.
    """

    @property
    def num_between_graph_workers(self) -> int:
        """The number of workers that reduce the same values, each in a graph of its own."""
        return 1

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """Return the reduced value on the destinations.

        Raises:
            ValueError: there are no destinations, there is no such reduction, or the value is not a
                tensor.
        """
        per_replica = as_per_replica(per_replica_value)
        validate_destinations(destinations)
        is_only = len(per_replica.values) * self.num_between_graph_workers == 1
        if is_only and _match(per_replica, destinations):
            return values_.regroup(per_replica.devices, per_replica.values, values_.Mirrored)
        return self.reduce_implementation(replicas.reduction(reduce_op), per_replica, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """Return the reduced values of pairs of a value and its destinations.

        Raises:
            ValueError: a member is not a pair. The other errors are those of `reduce`.
        """
        pairs = []
        for pair in value_destination_pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    "Each element of `value_destination_pairs` should be a tuple of size 2."
                )
            validate_destinations(pair[1])
            pairs.append((as_per_replica(pair[0]), pair[1]))
        count = len(pairs[0][0].values) * self.num_between_graph_workers if pairs else 0
        if count == 1 and all_match(pairs):
            return [
                values_.regroup(value.devices, value.values, values_.Mirrored) for value, _ in pairs
            ]
        reduced: list[Any] = self.batch_reduce_implementation(replicas.reduction(reduce_op), pairs)
        return reduced

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Return copies of a tensor on the destinations.

        Raises:
            ValueError: there are no destinations.
        """
        validate_destinations(destinations)
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """Return what `reduce` returns. A subclass overrides the method."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Pairs) -> Any:
        """Return what `batch_reduce` returns. A subclass overrides the method."""
        raise NotImplementedError("_batch_reduce method must be implemented in descendants.")

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """Return what `broadcast` returns: a copy for each device."""
        return mirrored(tensor, devices_of(destinations))


class ReductionToOneDevice(CrossDeviceOps):
    """Reduces values on one device, and copies the result to the destinations.

    The device is `reduce_to_device`, by default the first device of the destinations.
    `accumulation_fn` adds a list of tensors, by default as `tf.add_n` does.
    """

    def __init__(
        self,
        reduce_to_device: str | None = None,
        accumulation_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = math_ops.add_n if accumulation_fn is None else accumulation_fn

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        device = self.reduce_to_device or devices_of(destinations)[0]
        with context.device(device):
            total = self._total(list(per_replica_value.values))
            if reduce_op is replicas.ReduceOp.MEAN:
                total = divided(total, len(per_replica_value.values))
        return self.broadcast(total, destinations)

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Pairs) -> Any:
        return [
            self.reduce_implementation(reduce_op, value, destinations)
            for value, destinations in value_destination_pairs
        ]

    def _total(self, parts: list[Any]) -> Any:
        if not any(isinstance(part, indexed_slices.IndexedSlices) for part in parts):
            return self.accumulation_fn(parts)
        if not all(isinstance(part, indexed_slices.IndexedSlices) for part in parts):
            return self.accumulation_fn([convert.convert_to_tensor(part) for part in parts])
        return indexed_slices.IndexedSlices(
            array_ops.concat([part.values for part in parts], 0),
            array_ops.concat([part.indices for part in parts], 0),
            parts[0].dense_shape,
        )


def as_per_replica(value: Any) -> Any:
    """Return a value as one of several devices.

    Raises:
        ValueError: the value is not a tensor.
    """
    if isinstance(value, values_.DistributedValues):
        return value
    if isinstance(value, list | tuple) or not hasattr(value, "device"):
        raise ValueError(
            f"Cannot convert {value!r} to a `PerReplica` object: it must be a tensor, which has a "
            "device"
        )
    return values_.PerReplica([value.device], [value])


def validate_destinations(destinations: Any) -> None:
    """Check that destinations name a device.

    Raises:
        ValueError: they do not.
    """
    kinds = (values_.DistributedValues, variables.Variable, graphs.Tensor, str, tuple)
    if not isinstance(destinations, kinds):
        raise ValueError(  # noqa: TRY004 - what TensorFlow raises
            "destinations must be one of a `DistributedValues` object, a tf.Variable object, or a "
            f"device string. Got {destinations!r}"
        )
    if not devices_of(destinations) or "" in devices_of(destinations):
        raise ValueError("destinations can not be empty")


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Return the devices of destinations."""
    if isinstance(destinations, values_.DistributedValues):
        return destinations.devices
    if isinstance(destinations, tuple):
        return destinations
    device = destinations if isinstance(destinations, str) else destinations.device
    return (values_.canonical(device),) if device else ()


def all_match(pairs: Pairs) -> bool:
    """Return whether all values and destinations have the same devices."""
    first = pairs[0][0]
    return all(_match(value, where) and _match(value, first) for value, where in pairs)


def _match(one: Any, other: Any) -> bool:
    return set(devices_of(one)) == set(devices_of(other))


def mirrored(tensor: Any, devices: Sequence[str]) -> Any:
    """Return copies of a tensor or IndexedSlices on devices, or the copy on the only device."""
    copies = []
    for device in devices:
        with context.device(device):
            copies.append(indexed_slices.mapped(array_ops.identity, _as_tensor(tensor)))
    return copies[0] if len(copies) == 1 else values_.Mirrored(devices, copies)


def divided(total: Any, count: int) -> Any:
    """Return a tensor or IndexedSlices divided by a number."""
    if isinstance(total, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(
            math_ops.truediv(total.values, count), total.indices, total.dense_shape
        )
    return math_ops.truediv(total, count)


def _as_tensor(value: Any) -> Any:
    return convert.convert_to_tensor_or_indexed_slices(value)
