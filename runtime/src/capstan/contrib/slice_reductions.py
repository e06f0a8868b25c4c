"""`tf.contrib.reduce_slice_ops`: reductions of slices along an axis (contrib/reduce_slice_ops).

Segments of gathered elements take the place of TensorFlow's operations. `indices` has the first
index of each slice, and the index after its last one: [slices, 2]. A vector of N + 1 indices stands
for N slices, each of which begins where the one before ends. A slice may reach beyond the end of
the axis, where it stops. The results have gradients.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, math_ops, segment_ops
from capstan.api.ragged import ranges
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["reduce_slice_max", "reduce_slice_min", "reduce_slice_prod", "reduce_slice_sum"]


def reduce_slice_sum(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """Return the sum of each slice, and 0 for a slice without elements."""
    return _reduced(raw.UnsortedSegmentSum, data, indices, axis, name)


def reduce_slice_prod(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """Return the product of each slice, and 1 for a slice without elements."""
    return _reduced(segment_ops.unsorted_segment_prod, data, indices, axis, name)


def reduce_slice_max(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """Return the largest element of each slice. Without elements it is the least of the type."""
    return _reduced(segment_ops.unsorted_segment_max, data, indices, axis, name)


def reduce_slice_min(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """Return the least element of each slice. Without elements it is the largest of the type."""
    return _reduced(segment_ops.unsorted_segment_min, data, indices, axis, name)


def _reduced(
    reduce: Callable[..., Any], data: Any, indices: Any, axis: Any, name: str | None
) -> Any:
    with scoped(name, "ReduceSlice", [data, indices, axis]):
        data = convert.convert_to_tensor(data)
        bounds = math_ops.cast(indices, dtypes.int64)
        pairs = _pairs(bounds)
        rank = array_ops.rank(data)
        order = _swapped(rank, math_ops.cast(axis, dtypes.int32))
        rows = raw.Transpose(data, order)
        size = array_ops.shape(rows, out_type=dtypes.int64)[0]
        starts, ends = pairs[:, 0], raw.Minimum(pairs[:, 1], size)
        elements = ranges.range(starts, raw.Maximum(starts, ends))
        gathered = raw.GatherV2(rows, elements.values, 0)
        found = reduce(gathered, elements.value_rowids(), array_ops.shape(pairs)[0])
        return raw.Transpose(found, order)


def _pairs(bounds: Any) -> Any:
    if bounds.shape.ndims == 1 or bounds.shape.as_list()[1] == 1:
        flat = raw.Reshape(bounds, [-1])
        return array_ops.stack([flat[:-1], flat[1:]], 1)
    return bounds


def _swapped(rank: Any, axis: Any) -> Any:
    """Return the order of the axes with the first one and `axis` exchanged."""
    every = raw.Range(0, rank, 1)
    return raw.Select(
        raw.Equal(every, axis),
        raw.ZerosLike(every),
        raw.Select(raw.Equal(every, 0), raw.ZerosLike(every) + axis, every),
    )
