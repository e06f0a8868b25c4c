"""Reductions in which all devices get the sum: by NCCL's ops, and over two groups of devices.

Source: tensorflow/python/distribute/{cross_device_ops,cross_device_utils}.py of 2019.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, context, cross_device_ops, math_ops
from capstan.api import distributed_values as values_
from capstan.api import distribution_replica as replicas
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.framework.raw import raw

__all__ = ["HierarchicalCopyAllReduce", "NcclAllReduce"]

Row = Sequence[Any]


class AllReduceCrossDeviceOps(cross_device_ops.CrossDeviceOps):
    """Reduces tensors on the devices that have them. Values of a batch are packed before.

    Tensors of one dtype are joined and split into `num_packs` parts. With 0, each tensor is reduced
    alone. An IndexedSlices, and values whose destinations are other devices, are reduced on one
    device. A subclass defines `_summed`.

    Raises:
        ValueError: `num_packs` is negative.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(
                f"{type(self).__name__} requires num_packs >= 0, but {num_packs} is specified"
            )
        self._num_packs = num_packs
        self._simple = cross_device_ops.ReductionToOneDevice()

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        return self.batch_reduce_implementation(reduce_op, [(per_replica_value, destinations)])[0]

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: cross_device_ops.Pairs
    ) -> Any:
        if len(value_destination_pairs) > 1 and not cross_device_ops.all_match(
            value_destination_pairs
        ):
            return [
                self.reduce_implementation(reduce_op, *pair) for pair in value_destination_pairs
            ]
        dense = {
            number: value
            for number, (value, _) in enumerate(value_destination_pairs)
            if not any(isinstance(part, indexed_slices.IndexedSlices) for part in value.values)
            and cross_device_ops.all_match([value_destination_pairs[number]])
        }
        reduced = dict(zip(dense, self._all_reduced(reduce_op, list(dense.values())), strict=True))
        return [
            reduced[number] if number in dense else self._simple.reduce(reduce_op, *pair)
            for number, pair in enumerate(value_destination_pairs)
        ]

    def _all_reduced(self, reduce_op: Any, values: Sequence[Any]) -> list[Any]:
        rows = [value.values for value in values]
        sums = self._packed_sums(rows) if self._num_packs else self._sums(rows)
        results = []
        for value, row in zip(values, sums, strict=True):
            parts = list(row)
            if reduce_op is replicas.ReduceOp.MEAN:
                parts = [_beside(part, lambda part: math_ops.truediv(part, len(row))) for part in row]
            results.append(values_.regroup(value.devices, parts, values_.Mirrored))
        return results

    def _packed_sums(self, rows: Sequence[Row]) -> list[Row]:
        """Return the sums of rows of tensors, after tensors of one dtype were joined."""
        by_dtype: dict[Any, list[int]] = {}
        for number, row in enumerate(rows):
            by_dtype.setdefault(row[0].dtype.base_dtype, []).append(number)
        found: dict[int, Row] = {}
        for numbers in by_dtype.values():
            columns = [[rows[number][device] for number in numbers] for device in range(len(rows[0]))]
            packs = [_packed(column, self._num_packs) for column in columns]
            sums = self._sums(list(zip(*packs, strict=True)))
            columns = [
                _unpacked(list(parts), column)
                for parts, column in zip(zip(*sums, strict=True), columns, strict=True)
            ]
            found.update(zip(numbers, zip(*columns, strict=True), strict=True))
        return [found[number] for number in range(len(rows))]

    def _sums(self, rows: Sequence[Row]) -> list[Row]:
        return [self._summed(row, number) for number, row in enumerate(rows)]

    def _summed(self, row: Row, number: int) -> Row:
        """Return the sum of tensors on each of their devices. `number` counts the sums."""
        raise NotImplementedError


class NcclAllReduce(AllReduceCrossDeviceOps):
    """Adds tensors of several GPUs by `NcclAllReduce`, whose results are on all of the GPUs."""

    def _summed(self, row: Row, number: int) -> Row:
        name = graphs.get_default_graph().unique_name("nccl").encode()
        sums = []
        for part in row:
            with context.device(part.device):
                sums.append(
                    raw.NcclAllReduce(
                        part, reduction=b"sum", num_devices=len(row), shared_name=name
                    )
                )
        return sums


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """Adds tensors in two groups of devices, then between the groups, and copies the sums back.

    Successive tensors are added on different devices, so the devices share the work.
    """

    def _summed(self, row: Row, number: int) -> Row:
        size = len(row) // 2
        main = number % len(row)
        groups = (row[:size], row[size:]) if main < size else (row[size:], row[:size])
        mains = [row[main].device, row[(main + size) % len(row)].device]
        partial = []
        for device, group in zip(mains, groups, strict=True):
            with context.device(device):
                partial.extend([math_ops.add_n(list(group))] if group else [])
        with context.device(mains[0]):
            total = math_ops.add_n(partial)
        roots = []
        for device in mains:
            with context.device(device):
                roots.append(array_ops.identity(total))
        sums = []
        for index, part in enumerate(row):
            is_first_group = (index < size) == (main < size)
            with context.device(part.device):
                sums.append(array_ops.identity(roots[0 if is_first_group else 1]))
        return sums


def _beside(tensor: Any, function: Any) -> Any:
    with context.device(tensor.device):
        return function(tensor)


def _packed(tensors: Sequence[Any], count: int) -> list[Any]:
    """Return the elements of tensors of one device in `count` vectors. The last gets the rest."""

    def pack(_: Any) -> list[Any]:
        flat = array_ops.concat([array_ops.reshape(tensor, [-1]) for tensor in tensors], 0)
        if count == 1:
            return [flat]
        total = flat.shape.num_elements()
        total = array_ops.size(flat) if total is None else total
        part = total // count
        return array_ops.split(flat, [part] * (count - 1) + [total - part * (count - 1)])  # type: ignore[no-any-return]

    found: list[Any] = _beside(tensors[0], pack)
    return found


def _unpacked(packs: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return the elements of vectors as tensors with the shapes of `tensors`."""

    def unpack(_: Any) -> list[Any]:
        flat = packs[0] if len(packs) == 1 else array_ops.concat(list(packs), 0)
        parts = array_ops.split(flat, [_count(tensor) for tensor in tensors])
        return [
            array_ops.reshape(part, _shape(tensor))
            for part, tensor in zip(parts, tensors, strict=True)
        ]

    found: list[Any] = _beside(packs[0], unpack)
    return found


def _count(tensor: Any) -> Any:
    count = tensor.shape.num_elements()
    return array_ops.size(tensor) if count is None else count


def _shape(tensor: Any) -> Any:
    is_known = tensor.shape.is_fully_defined()
    return tensor.shape.as_list() if is_known else array_ops.shape(tensor)
