"""Masks and partitions with ragged results (python/ops/ragged/ragged_array_ops.py)."""

from typing import Any

from capstan.api import check_ops, gather_ops, math_ops, ordering_ops, reduce_ops
from capstan.api.ragged import arrays, gather, mapping, partition, row_ids, segments, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Return the elements of `data` where `mask` is true, with the axes of the mask.

    The shape of the mask is a prefix of the shape of `data`. In contrast to `tf.boolean_mask`, the
    last axis of the mask becomes ragged. For a mask that is a vector, the result has whole rows.

    Raises:
        ValueError: the mask is a scalar or has an unknown rank.
    """
    with scoped(name, "RaggedMask", (data, mask)):
        data = tensor.converted(data, name="data")
        mask = tensor.converted(mask, dtypes.bool_, name="mask")
        dtype, (data, mask) = tensor.matched(data, mask)
        rank = mask.shape.ndims
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if tensor.is_ragged(mask):
            return _by_ragged(data, mask, dtype)
        if not tensor.is_ragged(data):
            return _of_dense(data, mask, rank, dtype)
        if rank == 1:
            return _of_rows(data, mask)
        rows = tensor.RaggedTensor.from_tensor(
            mask, ragged_rank=min(data.ragged_rank, rank - 1), row_splits_dtype=dtype
        )
        return boolean_mask(data, rows)


def _by_ragged(data: Any, mask: Any, dtype: dtypes.DType) -> Any:
    count = mask.ragged_rank
    if not tensor.is_ragged(data):
        data = tensor.RaggedTensor.from_tensor(data, ragged_rank=count, row_splits_dtype=dtype)
    nested = [mask.nested_row_splits, data.nested_row_splits[:count]]
    with graphs.get_default_graph().control_dependencies(partition.assert_equal_splits(nested)):
        splits = []
        while tensor.is_ragged(mask):
            if mask.shape.ndims > 2:
                splits.append(mask.row_splits)
            else:
                kept = mapping.map_flat_values(math_ops.cast, mask, dtype)
                splits.append(partition.splits_of(segments.reduce_sum(kept, axis=1)))
            mask, data = mask.values, data.values
        return tensor.rows_of(boolean_mask(data, mask), *splits)


def _of_rows(data: Any, mask: Any) -> Any:
    lengths = gather_ops.boolean_mask(data.row_lengths(), mask)
    rows = row_ids.row_splits_to_segment_ids(data.row_splits)
    values = boolean_mask(data.values, gather_ops.gather(mask, rows))
    return tensor.rows_of(values, partition.splits_of(lengths))


def _of_dense(data: Any, mask: Any, rank: int, dtype: dtypes.DType) -> Any:
    values = gather_ops.boolean_mask(data, mask)
    if rank < 2:
        return values
    lengths = reduce_ops.count_nonzero(mask, axis=-1, dtype=dtype)
    flat = raw.Reshape(lengths, [-1])
    found = tensor.RaggedTensor.from_row_lengths(values, flat, validate=False)
    if rank == 2:
        return found
    sizes = raw.Shape(mask, out_type=dtype)
    counts = raw.Cumprod(sizes, 0) + 1
    outer = [raw.Range(0, counts[axis], 1) * sizes[axis + 1] for axis in range(rank - 2)]
    return tensor.rows_of(found, *outer)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Return a row for each partition: the elements of `data` whose number in `partitions` it is.

    The shape of `partitions` is a prefix of the shape of `data`. `num_partitions` is a scalar, and
    the numbers are below it.

    Raises:
        ValueError: the rank of `partitions` is unknown, or its shape does not fit.
    """
    with scoped(name, "SegmentStack", (data, partitions, num_partitions)):
        data = tensor.converted(data, name="data")
        dtype = data.row_splits.dtype if tensor.is_ragged(data) else None
        partitions = tensor.converted(partitions, preferred_dtype=dtype, name="partitions")
        count = convert.convert_to_tensor(
            num_partitions, name="num_partitions", preferred_dtype=partitions.dtype
        )
        if dtype is not None:
            partitions = mapping.map_flat_values(math_ops.cast, partitions, dtype)
        count = math_ops.cast(count, partitions.dtype)
        rank = partitions.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank.")
        count.shape.assert_has_rank(0)
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        if rank == 0:
            return tensor.RaggedTensor.from_value_rowids(
                arrays.expand_dims(data, 0), raw.Pack([partitions]), count, validate=False
            )
        if rank > 1:
            return _of_inner(data, partitions, count)
        order = ordering_ops.argsort(partitions, stable=True)
        rows = gather_ops.gather(partitions, order)
        values = gather.gather(data, order)
        message = "partitions must be less than num_partitions"
        check = check_ops.assert_less(rows[-1:], count, message=message)
        with graphs.get_default_graph().control_dependencies([check]):
            return tensor.RaggedTensor.from_value_rowids(values, rows, count, validate=False)


def _of_inner(data: Any, partitions: Any, count: Any) -> Any:
    dtype = partitions.dtype
    if not tensor.is_ragged(data):
        data = tensor.RaggedTensor.from_tensor(data, ragged_rank=1, row_splits_dtype=dtype)
    if not tensor.is_ragged(partitions):
        axes = max(data.ragged_rank, partitions.shape.ndims - 1)
        partitions = tensor.RaggedTensor.from_tensor(
            partitions, ragged_rank=axes, row_splits_dtype=dtype
        )
    message = "data and partitions have incompatible ragged shapes"
    check = check_ops.assert_equal(data.row_splits, partitions.row_splits, message=message)
    with graphs.get_default_graph().control_dependencies([check]):
        return stack_dynamic_partitions(data.values, partitions.values, count)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> list[Any]:
    """Return a list of the rows of `stack_dynamic_partitions`.

    Raises:
        TypeError: `num_partitions` is not an int, or is negative.
    """
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    found = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [found[number] for number in range(num_partitions)]
