"""Ragged tensors from tensors and SparseTensors, and back (python/ops/ragged/ragged_tensor.py).

`kind` is the class RaggedTensor, whose module needs this one.
"""

from typing import Any

from capstan.api import (
    array_ops,
    broadcast_ops,
    cond_ops,
    control_flow_ops,
    counting_ops,
    gather_ops,
    reduce_ops,
)
from capstan.api.ragged import partition
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def from_tensor(
    kind: Any, tensor: Any, lengths: Any, padding: Any, ragged_rank: int, dtype: dtypes.DType
) -> Any:
    """Return the rows of a tensor. `RaggedTensor.from_tensor` describes the arguments."""
    sizes = array_ops.shape(tensor, out_type=dtype)
    ncols = sizes[1]
    if ragged_rank > 1:
        # All ragged axes but the last have rows of one length.
        joined = raw.ConcatV2([[-1], sizes[ragged_rank:]], 0)
        flat = raw.Reshape(tensor, joined)
        inner = from_tensor(kind, flat, lengths, padding, 1, dtype)
        counts = raw.Cumprod(sizes, 0)
        splits = [
            raw.Range(0, counts[axis - 1] + 1, 1) * sizes[axis] for axis in range(1, ragged_rank)
        ]
        _set_count(splits[0], tensor)
        return kind.from_nested_row_splits(inner, splits, validate=False)
    if padding is not None:
        lengths = _lengths_without(padding, tensor, ncols, dtype)
    if lengths is None:
        splits = raw.Range(0, sizes[0] + 1, 1) * ncols
        _set_count(splits, tensor)
        values = raw.Reshape(tensor, raw.ConcatV2([[sizes[0] * ncols], sizes[2:]], 0))
        return kind.from_row_splits(values, splits, validate=False)
    is_nested = isinstance(lengths, list | tuple) and len(lengths) > 0
    if is_nested and not isinstance(lengths[0], int | float):
        tensor.shape.with_rank_at_least(len(lengths) + 1)
        ones = raw.Fill(
            raw.Reshape(raw.Cast(reduce_ops.reduce_sum(lengths[-1]), DstT=dtypes.int32), [1]), True
        )
        kept = kind.from_nested_row_lengths(ones, lengths, validate=False).to_tensor(False)
        values = gather_ops.boolean_mask(tensor, kept)
        return kind.from_nested_row_lengths(values, lengths, validate=False)
    lengths = partition.as_int(lengths, "lengths", dtype)
    lengths.shape.assert_has_rank(1)
    lengths = raw.Maximum(raw.Minimum(lengths, ncols), 0)
    kept = counting_ops.sequence_mask(lengths, maxlen=ncols)
    values = gather_ops.boolean_mask(tensor, kept)
    return kind.from_row_splits(values, partition.splits_of(lengths), validate=False)


def _set_count(splits: Any, tensor: Any) -> None:
    """Give splits of the rows of a tensor their static shape."""
    count = tensor_shape.dimension_value(tensor.shape[0])
    if count is not None:
        splits.set_shape([count + 1])


def _lengths_without(padding: Any, tensor: Any, ncols: Any, dtype: dtypes.DType) -> Any:
    """Return the length of each row up to its last element that is not the padding."""
    padding = convert.convert_to_tensor(padding, tensor.dtype.base_dtype, "padding")
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    is_padding = raw.Equal(padding, tensor)
    if tensor.shape.ndims is None:
        rank = raw.Rank(tensor)
        is_padding = cond_ops.cond(
            raw.Greater(rank, 2),
            lambda: raw.All(is_padding, raw.Range(2, rank, 1)),
            lambda: raw.Identity(is_padding),
        )
    elif tensor.shape.ndims > 2:
        is_padding = raw.All(is_padding, list(range(2, tensor.shape.ndims)))
    is_padding.set_shape(tensor_shape.TensorShape([None, None]))
    is_padding.set_shape(tensor.shape[:2])
    ends = raw.ExpandDims(raw.Range(1, ncols + 1, 1), 0)
    lengths = raw.Cast(raw.LogicalNot(is_padding), DstT=dtype) * ends
    return raw.Maximum(reduce_ops.reduce_max(lengths, axis=1), 0)


def to_tensor(ragged: Any, default_value: Any) -> Any:
    """Return the rows as a tensor. `RaggedTensor.to_tensor` describes the arguments."""
    splits, values = ragged.row_splits, ragged.values
    dtype = splits.dtype.base_dtype
    default = default_value
    if default is not None:
        default = convert.convert_to_tensor(default, ragged.dtype.base_dtype, "default_value")
    if not isinstance(values, graphs.Tensor):
        values = to_tensor(values, default)
    rank = values.shape.ndims
    if default is not None:
        if rank is not None:
            default.shape.with_rank_at_most(rank - 1)
        if None in (rank, default.shape.ndims) or rank != default.shape.ndims + 1:
            default = broadcast_ops.broadcast_to(default, array_ops.shape(values)[1:])
        default.shape.assert_is_compatible_with(values.shape[1:])
    nrows = partition.count_of(splits, dtype) - 1
    ncols = raw.Maximum(reduce_ops.reduce_max(partition.lengths_of(splits)), 0)
    sizes = array_ops.shape(values, out_type=dtype)
    if default is None:
        default = raw.Fill(sizes[1:], _zero(values.dtype.base_dtype))
    default.set_shape(values.shape[1:])
    # The default follows the values. Places beyond the end of a row get its number.
    padded = raw.ConcatV2([values, raw.ExpandDims(default, 0)], 0)
    starts, limits = raw.ExpandDims(splits[:-1], 1), raw.ExpandDims(splits[1:], 1)
    places = starts + raw.ExpandDims(raw.Range(0, ncols, 1), 0)
    beyond = raw.Fill(raw.Pack([nrows, ncols]), sizes[0])
    return gather_ops.gather(padded, raw.Select(raw.Less(places, limits), places, beyond))


def _zero(dtype: dtypes.DType) -> Any:
    if dtype is dtypes.string:
        return convert.constant("")
    return convert.constant(False if dtype is dtypes.bool_ else 0, dtype)


def from_sparse(kind: Any, given: Any, dtype: dtypes.DType) -> Any:
    """Return the rows of a SparseTensor. `RaggedTensor.from_sparse` describes the arguments.

    Raises:
        ValueError: the rank is not 2, or is unknown.
    """
    axes = (given.dense_shape.shape[0], given.indices.shape[1])
    if all(tensor_shape.dimension_value(size) != 2 for size in axes):
        raise ValueError("rank(st_input) must be 2")
    with given.graph.control_dependencies([_assert_no_gaps(given.indices)]):
        rowids = raw.Cast(given.indices[:, 0], DstT=dtype)
        nrows = raw.Cast(given.dense_shape[0], DstT=dtype)
        return kind.from_value_rowids(given.values, rowids, nrows, validate=False)


def _assert_no_gaps(indices: Any) -> Any:
    """Return the check that the elements of each row follow each other from column 0 on."""
    rows, columns = indices[:, :-1], indices[:, -1]
    is_new = reduce_ops.reduce_any(raw.NotEqual(rows[1:], rows[:-1]), axis=1)
    fits = raw.Select(is_new, raw.Equal(columns[1:], 0), raw.Equal(columns[1:], columns[:-1] + 1))
    begins = reduce_ops.reduce_all(raw.Equal(columns[:1], 0))
    return control_flow_ops.Assert(
        raw.LogicalAnd(begins, reduce_ops.reduce_all(fits)),
        ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices],
    )
