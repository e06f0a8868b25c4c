"""Repeats the elements of ragged tensors so that they have a shape
(python/ops/ragged/ragged_tensor_shape.py)."""

from typing import Any

from capstan.api import array_ops, broadcast_ops
from capstan.api.ragged import arrays, partition, tensor
from capstan.api.ragged.shape import RaggedTensorDynamicShape
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def broadcast_to(rt_input: Any, shape: Any, broadcast_inner_dimensions: bool = True) -> Any:
    """Return a tensor repeated so that it has `shape`, a RaggedTensorDynamicShape.

    Without `broadcast_inner_dimensions`, only the partitioned axes are repeated.

    Raises:
        TypeError: `shape` is of another class.
        ValueError: the ranks do not fit, or the row splits have another dtype.
    """
    if not isinstance(shape, RaggedTensorDynamicShape):
        raise TypeError("shape must be a RaggedTensorDynamicShape")
    given = tensor.converted(rt_input)
    if shape.num_partitioned_dimensions:
        return _to_ragged(given, shape, broadcast_inner_dimensions)
    if tensor.is_ragged(given):
        raise ValueError("Incompatible with shape: ragged rank mismatch")
    if not broadcast_inner_dimensions:
        return given
    return broadcast_ops.broadcast_to(given, shape.inner_dim_sizes)


def _to_ragged(given: Any, shape: RaggedTensorDynamicShape, broadcasts_inner: bool) -> Any:
    _check(given, shape)
    source = RaggedTensorDynamicShape.from_tensor(given).broadcast_to_rank(shape.rank or 0)
    ragged = _with_axes(given, shape)
    ragged = _repeated(ragged, source, shape)
    if broadcasts_inner:
        flat = ragged.flat_values
        count = array_ops.shape(flat, out_type=shape.dim_size_dtype)[:1]
        sizes = raw.ConcatV2([count, shape.inner_dim_sizes], 0)
        ragged = ragged.with_flat_values(broadcast_ops.broadcast_to(flat, sizes))
    for axis in range(shape.num_partitioned_dimensions):
        if shape.is_ragged(axis) and not source.is_ragged(axis):
            ragged = _tiled(ragged, axis, shape.dimension_size(axis), shape.dim_size_dtype)
    return ragged


def _check(given: Any, shape: RaggedTensorDynamicShape) -> None:
    is_ragged = tensor.is_ragged(given)
    if is_ragged and given.row_splits.dtype != shape.dim_size_dtype:
        raise ValueError(
            "rt_input and dst_shape have different row_split dtypes; use "
            "RaggedTensor.with_row_splits_dtype() or "
            "RaggedTensorDynamicShape.with_dim_size_dtype() to convert to a compatible dtype."
        )
    if given.shape.ndims is None or shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if given.shape.ndims > shape.rank:
        raise ValueError("Incompatible with shape: rank mismatch")
    if is_ragged and given.ragged_rank >= shape.num_partitioned_dimensions:
        raise ValueError("Incompatible with shape: ragged rank mismatch")


def _with_axes(given: Any, shape: RaggedTensorDynamicShape) -> Any:
    """Return a tensor with the axes of `shape`, those in front of size 1, as a RaggedTensor."""
    dtype, inner_rank = shape.dim_size_dtype, shape.num_inner_dimensions or 0
    added = (shape.rank or 0) - given.shape.ndims
    if added:
        if given.shape.ndims < inner_rank + 1:
            sizes = array_ops.shape(given, out_type=dtype)
            missing = inner_rank + 1 - given.shape.ndims
            given = raw.Reshape(given, raw.ConcatV2([[1] * missing, sizes], 0))
            added -= missing
        for _ in range(added):
            count = given.nrows() if tensor.is_ragged(given) else partition.count_of(given, dtype)
            given = tensor.RaggedTensor.from_row_lengths(given, [count], validate=False)
    if not tensor.is_ragged(given):
        return tensor.RaggedTensor.from_tensor(
            given, ragged_rank=shape.num_partitioned_dimensions - 1, row_splits_dtype=dtype
        )
    more = given.flat_values.shape.ndims - 1 - inner_rank
    if more > 0:
        flat = tensor.RaggedTensor.from_tensor(
            given.flat_values, ragged_rank=more, row_splits_dtype=dtype
        )
        given = given.with_flat_values(flat)
    return given


def _repeated(
    ragged: Any, source: RaggedTensorDynamicShape, shape: RaggedTensorDynamicShape
) -> Any:
    """Repeat the slices of the partitioned axes that are ragged in neither shape."""
    multiples: list[Any] = [1] * (shape.rank or 0)
    for axis in range(shape.num_partitioned_dimensions):
        if source.is_ragged(axis) or shape.is_ragged(axis):
            continue
        size, wanted = source.dimension_size(axis), shape.dimension_size(axis)
        known, wanted_known = convert.constant_value(size), convert.constant_value(wanted)
        if (known is None or known == 1) and (wanted_known is None or wanted_known != 1):
            size = raw.Cast(size, DstT=wanted.dtype.base_dtype)
            multiples[axis] = raw.Select(raw.Equal(size, 1), wanted, raw.OnesLike(wanted))
    if all(isinstance(each, int) for each in multiples):
        return ragged
    return arrays.tile(ragged, raw.Pack(multiples))


def _tiled(ragged: Any, axis: int, repeats: Any, dtype: dtypes.DType) -> Any:
    """Repeat the only element of each row along `axis`. `repeats` has a number for each row."""
    if not tensor.is_ragged(ragged):
        ragged = tensor.RaggedTensor.from_tensor(ragged, ragged_rank=1, row_splits_dtype=dtype)
    if axis > 1:
        return ragged.with_values(_tiled(ragged.values, axis - 1, repeats, dtype))
    first, *inner = ragged.nested_row_splits
    splits, lengths = first, [repeats]
    for each in inner:
        rows = partition.lengths_of(each)
        lengths.append(partition.repeat_ranges(rows, splits, repeats))
        splits = raw.GatherV2(each, splits, 0)
    values = partition.repeat_ranges(ragged.flat_values, splits, repeats)
    return tensor.RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)
