"""Reductions in which all devices get the sum: by NCCL's ops, and over two groups of devices.

Source: tensorflow/python/distribute/{cross_device_ops,cross_device_utils}.py of 2019.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan.api import array_ops, context, cross_device_ops, math_ops
from capstan.api import distributed_values as values_
from capstan.api import distribution_replica as replicas
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.framework.raw import raw

__all__ = ["HierarchicalCopyAllReduce", "NcclAllReduce"]

Row = Sequence[Any]


def _nccl_sums(row: Row, devices: Sequence[str], number: int) -> Row:
    """Return the sum of tensors on each of their devices."""
    name = graphs.get_default_graph().unique_name("nccl").encode()
    sums = []
    for part, device in zip(row, devices, strict=True):
        with context.device(device):
            sums.append(
                raw.NcclAllReduce(part, reduction=b"sum", num_devices=len(row), shared_name=name)
            )
    return sums


def _copied_sums(row: Row, devices: Sequence[str], number: int) -> Row:
    """Return the sum of tensors on each of their devices. `number` counts the sums."""
    size = len(row) // 2
    main = number % len(row)
    groups = (row[:size], row[size:]) if main < size else (row[size:], row[:size])
    mains = [devices[main], devices[(main + size) % len(row)]]
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
    for index, device in enumerate(devices):
        is_first_group = (index < size) == (main < size)
        with context.device(device):
            sums.append(array_ops.identity(roots[0 if is_first_group else 1]))
    return sums


_ALGORITHMS: Final[Mapping[str, Callable[[Row, Sequence[str], int], Row]]] = {
    "nccl": _nccl_sums,
    "hierarchical_copy": _copied_sums,
}


class AllReduceCrossDeviceOps(cross_device_ops.CrossDeviceOps):
    """Reduces tensors on the devices that have them. Values of a batch are packed before.

    Tensors of one dtype are joined and split into `num_packs` parts. With 0, each tensor is reduced
    alone. An IndexedSlices, and values whose destinations are other devices, are reduced on one
    device. `all_reduce_alg` is "nccl" or "hierarchical_copy": see `NcclAllReduce` and
    `HierarchicalCopyAllReduce`.

    Raises:
        ValueError: `num_packs` is negative, or there is no such algorithm.
    """

    def __init__(self, all_reduce_alg: str = "nccl", num_packs: int = 1) -> None:
        if all_reduce_alg not in _ALGORITHMS:
            raise ValueError(
                f"There is no all-reduce algorithm {all_reduce_alg!r}: it is one of "
                f"{list(_ALGORITHMS)}"
            )
        if num_packs < 0:
            raise ValueError(
                f"{type(self).__name__} requires num_packs >= 0, but {num_packs} is specified"
            )
        self._summed = _ALGORITHMS[all_reduce_alg]
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
        if not values:
            return []
        rows, devices = [value.values for value in values], values[0].devices
        results = []
        add = self._packed_sums if self._num_packs else self._sums
        for row in add(rows, devices):
            parts = list(row)
            if reduce_op is replicas.ReduceOp.MEAN:
                for number, device in enumerate(devices):
                    with context.device(device):
                        parts[number] = math_ops.truediv(parts[number], len(parts))
            results.append(values_.regroup(devices, parts, values_.Mirrored))
        return results

    def _packed_sums(self, rows: Sequence[Row], devices: Sequence[str]) -> list[Row]:
        """Return the sums of rows of tensors, after tensors of one dtype were joined."""
        by_dtype: dict[Any, list[int]] = {}
        for number, row in enumerate(rows):
            by_dtype.setdefault(row[0].dtype.base_dtype, []).append(number)
        found: dict[int, Row] = {}
        for numbers in by_dtype.values():
            columns = list(zip(*(rows[number] for number in numbers), strict=True))
            packs = []
            for column, device in zip(columns, devices, strict=True):
                with context.device(device):
                    packs.append(packed(column, self._num_packs))
            sums = zip(*self._sums(list(zip(*packs, strict=True)), devices), strict=True)
            columns_of_sums = []
            for parts, column, device in zip(sums, columns, devices, strict=True):
                with context.device(device):
                    columns_of_sums.append(unpacked(parts, column))
            found.update(zip(numbers, zip(*columns_of_sums, strict=True), strict=True))
        return [found[number] for number in range(len(rows))]

    def _sums(self, rows: Sequence[Row], devices: Sequence[str]) -> list[Row]:
        return [self._summed(row, devices, number) for number, row in enumerate(rows)]


class NcclAllReduce(AllReduceCrossDeviceOps):
    """Adds tensors of several GPUs by `NcclAllReduce`, whose results are on all of the GPUs."""

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("nccl", num_packs)


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """Adds tensors in two groups of devices, then between the groups, and copies the sums back.

    Successive tensors are added on different devices, so the devices share the work.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("hierarchical_copy", num_packs)


def packed(tensors: Sequence[Any], count: int) -> list[Any]:
    """Return the elements of tensors in `count` vectors. The last gets the rest."""
    flat = array_ops.concat([array_ops.reshape(tensor, [-1]) for tensor in tensors], 0)
    if count == 1:
        return [flat]
    total = _count(flat)
    part = total // count
    packs: list[Any] = array_ops.split(flat, [part] * (count - 1) + [total - part * (count - 1)])
    return packs


def unpacked(packs: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return the elements of vectors as tensors with the shapes of `tensors`."""
    flat = packs[0] if len(packs) == 1 else array_ops.concat(list(packs), 0)
    parts = array_ops.split(flat, [_count(tensor) for tensor in tensors])
    return [
        array_ops.reshape(part, _shape(tensor)) for part, tensor in zip(parts, tensors, strict=True)
    ]


def _count(tensor: Any) -> Any:
    count = tensor.shape.num_elements()
    return array_ops.size(tensor) if count is None else count


def _shape(tensor: Any) -> Any:
    is_known = tensor.shape.is_fully_defined()
    return tensor.shape.as_list() if is_known else array_ops.shape(tensor)
