"""Lookups in ragged tensors, and with ragged indices
(python/ops/ragged/ragged_{gather,batch_gather}_ops.py)."""

from typing import Any

from capstan.api import arrangement_ops, array_ops, check_ops, gather_ops, math_ops, nd_ops
from capstan.api.ragged import arrays, partition, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: int | None = 0,
    batch_dims: int = 0,
) -> Any:
    """Select slices of `params` by their indices along axis 0.

    Raises:
        ValueError: `axis` or `batch_dims` is not 0, or the rank of `indices` is unknown.
    """
    _check_is_zero("axis", 0 if axis is None else axis)
    _check_is_zero("batch_dims", batch_dims)
    with scoped(name, "RaggedGather", (params, indices)):
        params, indices = _converted(params, indices)
        if tensor.is_ragged(indices):
            return indices.with_values(gather(params, indices.values))
        if not tensor.is_ragged(params):
            return gather_ops.gather(params, indices)
        if indices.shape.ndims is None:
            raise ValueError("indices.shape.ndims must be known statically")
        found = raw.RaggedGather(
            list(params.nested_row_splits),
            params.flat_values,
            indices,
            OUTPUT_RAGGED_RANK=indices.shape.ndims + params.ragged_rank - 1,
        )
        return tensor.rows_of(found.output_dense_values, *found.output_nested_splits)


def _check_is_zero(name: str, value: Any) -> None:
    if not isinstance(value, int) or value != 0:
        raise ValueError(f"{name} != 0 is not supported for ragged gather yet.")


def _converted(params: Any, indices: Any) -> tuple[Any, Any]:
    params = tensor.converted(params, name="params")
    indices = tensor.converted(indices, name="indices")
    _, (params, indices) = tensor.matched(params, indices)
    return params, indices


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """Return the slices of `params` at `indices`, whose last axis has one coordinate per axis.

    Raises:
        ValueError: `batch_dims` is not 0, the rank of `indices` or the size of its last axis is
            unknown, or its last axis is ragged.
    """
    _check_is_zero("batch_dims", batch_dims)
    if not (tensor.is_ragged(params) or tensor.is_ragged(indices)):
        return nd_ops.gather_nd(params, indices, name)
    with scoped(name, "RaggedGatherNd", (params, indices)):
        params, indices = _converted(params, indices)
        rank, size = _coordinates(indices)
        if rank > 2:
            return _gather_each(params, indices, rank)
        if size == 0:
            return _repeated(params, indices, rank)
        if size == 1:
            return gather(params, raw.Reshape(indices, [-1]))
        return _gather_deep(params, indices, size)


def _coordinates(indices: Any) -> tuple[int, int]:
    """Return the rank of indices, and the number of coordinates of each.

    Raises:
        ValueError: one is unknown or not possible.
    """
    rank = indices.shape.ndims
    if rank is None:
        raise ValueError("indices.rank be statically known.")
    if rank == 0:
        raise ValueError("indices.rank must be at least 1.")
    if tensor.is_ragged(indices) and rank == indices.ragged_rank + 1:
        raise ValueError("The innermost dimension of indices may not be ragged")
    size = tensor_shape.dimension_value(indices.shape[-1])
    if size is None:
        raise ValueError("indices.shape[-1] must be statically known.")
    return rank, size


def _gather_each(params: Any, indices: Any, rank: int) -> Any:
    is_dense = not tensor.is_ragged(indices)
    if is_dense:
        indices = tensor.RaggedTensor.from_tensor(
            indices, ragged_rank=rank - 2, row_splits_dtype=params.row_splits.dtype
        )
    found = indices.with_flat_values(gather_nd(params, indices.flat_values))
    if is_dense and found.ragged_rank == rank - 2:
        return found.to_tensor()
    return found


def _repeated(params: Any, indices: Any, rank: int) -> Any:
    """Return all of `params` for each index, which has no coordinates."""
    axes = array_ops.rank(params.flat_values) + params.ragged_rank
    for _ in range(rank - 1):
        params = arrays.expand_dims(params, 0)
    outer = raw.StridedSlice(raw.Shape(indices), [0], [-1], [1])
    multiples = raw.ConcatV2([outer, raw.Fill(raw.Reshape(axes, [1]), 1)], 0)
    return arrays.tile(params, multiples)


def _gather_deep(params: Any, indices: Any, size: int) -> Any:
    """Follow the coordinates through the row splits of the ragged axes."""
    indices = math_ops.cast(indices, params.row_splits.dtype)
    flat = gather_ops.gather(params.row_splits, indices[..., 0]) + indices[..., 1]
    values = params.values
    for axis in range(2, size):
        if not tensor.is_ragged(values):
            rest = raw.ConcatV2([raw.ExpandDims(flat, 1), indices[..., axis:]], 1)
            return nd_ops.gather_nd(values, rest)
        flat = gather_ops.gather(values.row_starts(), flat) + indices[..., axis]
        values = values.values
    return gather(values, flat)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Select slices by their indices along the last axis of `indices`, in each of a batch.

    Raises:
        ValueError: the rank of `indices` is unknown or 0, or `params` has other axes before.
    """
    if not (tensor.is_ragged(params) or tensor.is_ragged(indices)):
        return arrangement_ops.batch_gather(params, indices, name)
    unfit = "batch shape from indices does not match params shape"
    with scoped(name, "RaggedBatchGather", (params, indices)):
        params, indices = _converted(params, indices)
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if rank == 0:
            raise ValueError("indices.rank must be at least 1.")
        if tensor.is_ragged(indices):
            return _from_each(params, indices, unfit)
        if rank == 1:
            return gather(params, indices)
        if rank > 2:
            raise ValueError(unfit)
        starts = raw.ExpandDims(params.row_starts(), 1)
        return gather(params.values, math_ops.cast(indices, starts.dtype) + starts)


def _from_each(params: Any, indices: Any, unfit: str) -> Any:
    if indices.shape.ndims > 2:
        if not tensor.is_ragged(params):
            raise ValueError(unfit)
        check = check_ops.assert_equal(params.row_splits, indices.row_splits)
        with graphs.get_default_graph().control_dependencies([check]):
            found = batch_gather(params.values, indices.values)
            return tensor.rows_of(found, indices.row_splits)
    if not tensor.is_ragged(params):
        if params.shape.ndims is not None and params.shape.ndims < 2:
            raise ValueError(unfit)
        params = tensor.RaggedTensor.from_tensor(
            params, ragged_rank=1, row_splits_dtype=indices.row_splits.dtype
        )
    starts = arrangement_ops.repeat(params.row_starts(), indices.row_lengths(), axis=0)
    places = math_ops.cast(indices.values, starts.dtype) + starts
    return tensor.rows_of(gather(params.values, places), indices.row_splits)


def count_of(given: Any, out_type: dtypes.DType) -> Any:
    """Return the number of rows of a tensor or a RaggedTensor."""
    if tensor.is_ragged(given):
        return given.nrows(out_type=out_type)
    return partition.count_of(given, out_type)
