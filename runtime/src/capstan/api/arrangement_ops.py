"""TensorFlow 1's functions that roll, repeat, search and reinterpret arrays.

Sources: python/ops/array_ops.py, manip_ops.py, and the ops of core/ops/math_ops.cc.
"""

from typing import Any

import numpy as np

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "batch_gather", "bitcast", "cross", "invert_permutation", "repeat", "roll", "searchsorted",
    "unravel_index",
]  # fmt: skip

roll = plain.function(
    "roll",
    "Roll",
    "Move elements along axes. Those that leave the end of an axis return at its start.\n\n"
    "`shift` is a distance and `axis` an axis, or both are vectors of one length. The shifts of an "
    "axis that is named several times add up. A step raises InvalidArgumentError for an axis that "
    "the tensor does not have.",
)
cross = plain.function(
    "cross",
    "Cross",
    "Return the cross products of the vectors along the last axis, which has 3 elements.\n\n"
    "`a` and `b` have one shape and one numeric type. Otherwise the function raises ValueError.",
)
invert_permutation = plain.function(
    "invert_permutation", "InvertPermutation", "Return y such that y[x[i]] is i for each i."
)
unravel_index = plain.function(
    "unravel_index",
    "UnravelIndex",
    "Return the coordinates of elements of an array of shape `dims`, given their places in a row."
    "\n\n`indices` is a scalar or a vector, of the integer type of `dims`. The result has a row "
    "for each axis. A step raises InvalidArgumentError for a place behind the last element.",
)


def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """Return the bits of a tensor as elements of another numeric type.

    If the new type is smaller, the result has one axis more. If it is larger, the last axis holds
    the parts of an element, and the result does not have this axis.

    Raises:
        ValueError: the last axis has another number of parts.
    """
    return raw.Bitcast(input, type=type, name=name)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """Return the places where values fit into sorted rows, as integers of `out_type`.

    The rows are along the last axis, and the other axes of both tensors are the same. With `side`
    "left", a value fits before equal elements, and with "right" behind them.

    Raises:
        ValueError: `side` is neither "left" nor "right".
    """
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    rows = convert.convert_to_tensor(sorted_sequence, name="sorted_sequence")
    values = convert.convert_to_tensor(values, name="values")
    search = raw.UpperBound if side == "right" else raw.LowerBound
    found = search(_as_rows(rows), _as_rows(values), out_type=out_type, name=name)
    return raw.Reshape(found, raw.Shape(values))


def _as_rows(value: Any) -> Any:
    sizes = raw.Shape(value)
    # The -1 of a shape does not tell the number of rows if they are empty.
    count = raw.Prod(raw.StridedSlice(sizes, [0], [-1], [1], begin_mask=1), [0], keep_dims=True)
    size = raw.StridedSlice(sizes, [-1], [0], [1], end_mask=1)
    return raw.Reshape(value, raw.ConcatV2([count, size], 0))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Repeat the slices of a tensor along an axis.

    `repeats` is an integer, or a vector with an integer for each slice. One below 0 counts as 0.
    Without `axis`, the elements are repeated, and the result is a vector.

    Raises:
        TypeError: `axis` is not an int.
        ValueError: `repeats` has more than one axis, the tensor has no such axis, or the axis has
            another size than `repeats`.
    """
    with scoped(name, "Repeat", (input, repeats)):
        data = convert.convert_to_tensor(input, name="data")
        if axis is None:
            data, axis = raw.Reshape(data, [-1]), 0
        if not isinstance(axis, int):
            raise TypeError(f"Argument `axis` must be an int, not {axis!r}")
        repeats = convert.convert_to_tensor(repeats, name="repeats")
        counts = raw.Cast(repeats, DstT=dtypes.int32)
        if counts.shape.ndims not in (None, 0, 1):
            raise ValueError(f"Shape {counts.shape} must have rank at most 1")
        if data.shape.ndims == 0:
            data = raw.Reshape(data, [1])
        axis = _from_front(axis, data.shape.ndims)
        size = raw.GatherV2(raw.Shape(data), [axis], 0)
        static = data.shape.internal
        is_single = counts.shape.num_elements() == 1
        if is_single:
            counts = raw.Reshape(counts, [])
        elif counts.shape.ndims == 1 and static is not None:
            length = counts.shape.internal[0]
            if not shapes.is_compatible((static[axis],), (length,)):
                raise ValueError(f"Dimensions {static[axis]} and {length} are not compatible")
        ends = raw.Cumsum(raw.BroadcastTo(raw.Maximum(counts, 0), size), 0)
        total = raw.Sum(raw.BroadcastTo(raw.Maximum(counts, 0), size), [0])
        places = raw.Range(np.int32(0), total, np.int32(1))
        sources = raw.UpperBound(raw.ExpandDims(ends, 0), raw.ExpandDims(places, 0))
        result = raw.GatherV2(data, raw.Squeeze(sources, squeeze_dims=[0]), axis)
        if static is not None:
            known, width = repeats.op.constant_value(), static[axis]
            new = None
            if known is not None and width is not None:
                new = int(np.broadcast_to(np.maximum(known, 0), width).sum())
            result.set_shape((*static[:axis], new, *static[axis + 1 :]))
        return result


def _from_front(axis: int, count: int | None) -> int:
    if count is None:
        if axis < 0:
            raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
        return axis
    if not -count <= axis < count:
        raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
    return axis % count


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Select slices by their indices along the last axis of `indices`, in each of a batch.

    The axes of `indices` before the last are axes of `params` too. A step raises
    InvalidArgumentError for an index out of range.

    Raises:
        ValueError: the rank of `indices` is unknown or 0, or `params` has fewer axes.
    """
    with scoped(name, "BatchGather", (params, indices)):
        params = convert.convert_to_tensor(params, name="params")
        indices = convert.convert_to_tensor(indices, name="indices")
        count, rank = indices.shape.ndims, params.shape.ndims
        if count is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if count == 0 or (rank is not None and count > rank):
            raise ValueError(
                f"Argument `batch_dims` = {count - 1} must be less than rank(`params`) = {rank}"
            )
        return raw.GatherV2(params, indices, count - 1, batch_dims=count - 1)
