"""Reductions such as `reduce_sum`, `argmax` and `cumsum` (python/ops/math_ops.py).

`axis` is an axis or a list of axes. None means all axes. Negative axes count from the back.
`keepdims` keeps the reduced axes with size 1. `reduction_indices`, `keep_dims` and `dimension` are
older names of these arguments.
"""

from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, deprecation, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "argmax", "argmin", "count_nonzero", "cumprod", "cumsum", "reduce_all", "reduce_any",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
]  # fmt: skip


def _reduce(
    op: str,
    input_tensor: Any,
    axis: Any,
    keepdims: bool | None,
    name: str | None,
    reduction_indices: Any,
    keep_dims: bool | None,
) -> Any:
    axis = deprecation.deprecated_argument_lookup(
        "axis", axis, "reduction_indices", reduction_indices
    )
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    value = (_logical if op in ("All", "Any") else _tensor)(input_tensor)
    axes = _all_axes(value) if axis is None else axis
    result = getattr(raw, op)(value, axes, keep_dims=bool(keep), name=name)
    if axis is None and not keep:
        # If the rank of the input is unknown, only the step knows the axes.
        result.set_shape(())
    return result


def _tensor(value: Any) -> Any:
    return convert.convert_to_tensor(value, name="input_tensor")


def _logical(value: Any) -> Any:
    """Return a value as a tensor: of bool, unless it is a tensor already."""
    try:
        return convert.convert_to_tensor(value, dtypes.bool_, "input_tensor")
    except ValueError:
        # The operation refuses a tensor of another type, and names its argument.
        return _tensor(value)


def _all_axes(value: Any) -> Any:
    with value.graph.as_default():
        if value.shape.ndims is not None:
            return convert.constant(np.arange(value.shape.ndims, dtype=np.int32))
        return raw.Range(np.int32(0), raw.Rank(value), np.int32(1), name="range")


def reduced(op: str, input_tensor: Any, axis: Any, keepdims: bool | None, name: str | None) -> Any:
    """Add a reduction of type `op`. This function is not a name of `tf`."""
    return _reduce(op, input_tensor, axis, keepdims, name, None, None)


def reduce_sum(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the sum of the elements along `axis`: an axis, a list of axes, or None for all axes.

    The reduced axes are dropped, or get the size 1 with `keepdims`. The result has the dtype
    of `input_tensor`.
    """
    return _reduce("Sum", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_mean(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the mean along `axis`: an axis, a list of axes, or None for all axes.

    The reduced axes are dropped, or get the size 1 with `keepdims`. The result has the dtype of
    `input_tensor`: as in TensorFlow, the mean of integers is an integer. The mean of no elements is
    NaN.
    """
    return _reduce("Mean", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_prod(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the product of the elements along `axis`.

    `axis` is an axis, a list of axes, or None for all axes. The reduced axes are dropped, or get
    the size 1 with `keepdims`. The result has the dtype of `input_tensor`.
    """
    return _reduce("Prod", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_max(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the largest element along `axis`: an axis, a list of axes, or None for all axes.

    The reduced axes are dropped, or get the size 1 with `keepdims`. The result has the dtype
    of `input_tensor`.
    """
    return _reduce("Max", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_min(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the smallest element along `axis`: an axis, a list of axes, or None for all axes.

    The reduced axes are dropped, or get the size 1 with `keepdims`. The result has the dtype
    of `input_tensor`.
    """
    return _reduce("Min", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_all(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return whether all elements are true along `axis`.

    `axis` is an axis, a list of axes, or None for all axes. The reduced axes are dropped, or get
    the size 1 with `keepdims`. The result is a bool tensor.
    """
    return _reduce("All", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_any(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return whether an element is true along `axis`.

    `axis` is an axis, a list of axes, or None for all axes. The reduced axes are dropped, or get
    the size 1 with `keepdims`. The result is a bool tensor.
    """
    return _reduce("Any", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return log(sum(exp(x))), computed without overflow."""
    axis = deprecation.deprecated_argument_lookup(
        "axis", axis, "reduction_indices", reduction_indices
    )
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    with scoped(name, "ReduceLogSumExp", (input_tensor,)):
        value = convert.convert_to_tensor(input_tensor, name="input_tensor")
        largest = reduce_max(value, axis, keepdims=True)
        finite = raw.Select(raw.IsFinite(largest), largest, creation_ops.zeros_like(largest))
        shift = raw.StopGradient(finite)
        total = raw.Log(reduce_sum(raw.Exp(raw.Sub(value, shift)), axis, keepdims=keep))
        if not keep:
            shift = raw.Reshape(shift, array_ops.shape(total))
        return raw.Add(total, shift)


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Any:
    """Count the elements that are not 0."""
    value = deprecation.deprecated_argument_lookup("input", input, "input_tensor", input_tensor)
    with scoped(name, "count_nonzero", (value,)):
        value = convert.convert_to_tensor(value, name="input_tensor")
        kind = value.dtype.base_dtype
        zero = b"" if kind == dtypes.string else np.zeros((), kind.as_numpy_dtype)
        differs = raw.NotEqual(value, convert.constant(zero, kind, name="zeros"))
        is_set = raw.Cast(differs, DstT=dtypes.int64)
        total = reduce_sum(
            is_set, axis, keepdims, reduction_indices=reduction_indices, keep_dims=keep_dims
        )
        return math_ops.cast(total, dtype)


def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Any:
    """Return the index of the largest element along an axis (default: 0).

    If several elements are equally large, return the first index.
    """
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return raw.ArgMax(input, 0 if axis is None else axis, output_type=output_type, name=name)


def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Any:
    """Return the index of the smallest element along an axis (default: 0).

    If several elements are equally small, return the first index.
    """
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return raw.ArgMin(input, 0 if axis is None else axis, output_type=output_type, name=name)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return running sums along an axis. `exclusive` leaves each element out of its own sum."""
    return raw.Cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return running products along an axis.

    `exclusive` leaves each element out of its own product.
    """
    return raw.Cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def reduced_shape(input_shape: Any, axes: Any) -> Any:
    """Return the shape of a reduction over `axes` with `keepdims`, as a vector of int32.

    `input_shape` is the shape of the value that is reduced.
    """
    shape, places = (math_ops.cast(each, dtypes.int32) for each in (input_shape, axes))
    rank = raw.Size(shape)
    ones = raw.Fill(raw.Shape(places), 1)
    numbers = [raw.Range(0, rank, 1), raw.FloorMod(raw.AddV2(places, rank), rank)]
    return raw.DynamicStitch(numbers, [shape, ones])
