"""The kernel that pads ragged rows to a dense tensor (core/kernels/ragged_tensor_to_tensor_op.cc).

The place of a value in the dense tensor is found axis by axis. -1 is the place of a value that the
wanted shape cuts off.
"""

from collections.abc import Sequence

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.framework.ops import ragged as rows_of_ops
from capstan.kernels import variants
from capstan.kernels.ragged import places
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_FIRST_SIZE, _SPLITS = b"FIRST_DIM_SIZE", b"ROW_SPLITS"


def _to_dense(node: NodeContext) -> Function:
    kinds = rows_of_ops.partition_types(node.attrs)
    count = rows_of_ops.ragged_rank(kinds)
    has_size = kinds[0] == _FIRST_SIZE

    def fill(shape: Array, values: Array, default: Array, *partitions: Array) -> Array:
        first = int(partitions[0]) if has_size else len(partitions[0]) - 1
        axes = list(zip(kinds[has_size:], partitions[has_size:], strict=True))
        sizes = _sizes(variants.shape_in(shape), first, axes, count, values)
        try:
            filled = np.array(np.broadcast_to(default, sizes))
        except ValueError:
            raise invalid(
                f"Unable to broadcast default_value of shape {shapes.show(default.shape)} to "
                f"tensor of shape {shapes.show(sizes)}"
            ) from None
        outer = sizes[: count + 1]
        at = np.where(np.arange(first) < sizes[0], np.arange(first), -1)
        for (kind, partition), width in zip(axes, outer[1:], strict=True):
            at = _inner(kind, partition, at, width)
        if len(at) != len(values):
            raise invalid("Values and indices must be equal")
        if filled.size:
            kept = at >= 0
            flat = filled.reshape(int(np.prod(outer)), *values.shape[1:])
            flat[at[kept]] = values[kept]
        return filled

    return fill


def _sizes(
    wanted: shapes.Shape,
    first: int,
    axes: Sequence[tuple[bytes, Array]],
    count: int,
    values: Array,
) -> tuple[int, ...]:
    """Return the shape of the result. The widest row decides a size that is not given."""
    try:
        known = rows_of_ops.dense_shape(count, wanted, values.shape)
    except ValueError as fault:
        raise invalid(str(fault)) from None
    assert known is not None
    widths = [first, *(_width(*axis) for axis in axes)]
    ragged = zip(known[: count + 1], widths, strict=True)
    return (
        *(width if size is None else size for size, width in ragged),
        *(size or 0 for size in known[count + 1 :]),
    )


def _width(kind: bytes, partition: Array) -> int:
    lengths = np.diff(partition) if kind == _SPLITS else np.bincount(partition)
    return int(lengths.max(initial=0))


def _inner(kind: bytes, partition: Array, outer: Array, width: int) -> Array:
    """Return the places of the elements of an axis. `outer` are the places of its rows."""
    if kind == _SPLITS:
        lengths = np.diff(partition)
        if len(lengths) != len(outer) or (lengths < 0).any():
            raise invalid(
                f"Invalid row splits: there are {len(outer)} rows, and the splits are "
                f"{partition.tolist()}"
            )
        rows = np.repeat(np.arange(len(lengths)), lengths)
    else:
        if len(partition) and not 0 <= partition.min() <= partition.max() < len(outer):
            raise invalid(
                f"A row id is not in [0, {len(outer)}): the row ids are {partition.tolist()}"
            )
        rows = partition
        lengths = np.bincount(rows, minlength=len(outer))
    columns = places(np.zeros_like(lengths), lengths)
    above = outer[rows]
    return np.where((above >= 0) & (columns < width), above * width + columns, -1)


register(Kernel("RaggedTensorToTensor", _to_dense))
