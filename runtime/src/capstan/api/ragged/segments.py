"""Sums and other aggregates of segments and axes of ragged tensors
(python/ops/ragged/ragged_math_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import (
    check_ops,
    creation_ops,
    gather_ops,
    math_ops,
    reduce_ops,
    segment_ops,
)
from capstan.api.ragged import mapping, partition, ranges, row_ids, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Aggregate = Callable[[Any, Any, Any], Any]
"""`f(data, segment_ids, num_segments)` of tensors."""


def aggregated(
    aggregate: Aggregate, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Return the aggregate of the rows of each segment.

    A row of the result is as long as the longest row of its segment. The shape of `segment_ids` is
    a prefix of the shape of `data`.

    Raises:
        ValueError: the ids are not integers, or are ragged although `data` is not.
    """
    if not (tensor.is_ragged(data) or tensor.is_ragged(segment_ids)):
        return aggregate(data, segment_ids, num_segments)
    with scoped(name, "RaggedSegment", (data, segment_ids, num_segments)):
        data = tensor.converted(data, name="data")
        ids = tensor.converted(segment_ids, name="segment_ids")
        _, (data, ids) = tensor.matched(data, ids)
        if ids.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("segment_ids must have dtype int32 or int64.")
        if tensor.is_ragged(ids):
            return _of_values(aggregate, data, ids, num_segments)
        lengths = partition.lengths_of(data.row_splits)
        longest = segment_ops.unsorted_segment_max(lengths, ids, num_segments)
        splits = partition.splits_of(raw.Maximum(longest, 0))
        starts = gather_ops.gather(splits, ids)
        places = ranges.range(starts, starts + lengths).values
        values = aggregated(aggregate, data.values, places, splits[-1])
        return tensor.rows_of(values, splits)


def _of_values(aggregate: Aggregate, data: Any, ids: Any, num_segments: Any) -> Any:
    message = "segment_ids.shape must be a prefix of data.shape"
    if not tensor.is_ragged(data):
        raise ValueError(f"{message}, but segment_ids is ragged and data is not.")
    check = check_ops.assert_equal(ids.row_splits, data.row_splits, message=message)
    with graphs.get_default_graph().control_dependencies([check]):
        return aggregated(aggregate, data.values, ids.values, num_segments)


def _segments(aggregate: Aggregate, title: str) -> Callable[..., Any]:
    def of_segments(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return aggregated(aggregate, data, segment_ids, num_segments, name or title)

    return of_segments


segment_sum = _segments(gather_ops.unsorted_segment_sum, "RaggedSegmentSum")
segment_prod = _segments(segment_ops.unsorted_segment_prod, "RaggedSegmentProd")
segment_min = _segments(segment_ops.unsorted_segment_min, "RaggedSegmentMin")
segment_max = _segments(segment_ops.unsorted_segment_max, "RaggedSegmentMax")


def segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    with scoped(name, "RaggedSegmentMean", (data, segment_ids, num_segments)):
        return _divided(*_sums(data, segment_ids, num_segments))


def segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    with scoped(name, "RaggedSegmentSqrtN", (data, segment_ids, num_segments)):
        total, count = _sums(data, segment_ids, num_segments)
        return _divided(total, mapping.map_flat_values(math_ops.sqrt, count))


def _sums(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    """Return the sum of each segment, and the number of its elements."""
    data = tensor.converted(data, name="data")
    total = segment_sum(data, segment_ids, num_segments)
    return total, segment_sum(_ones(data), segment_ids, num_segments)


def _ones(data: Any) -> Any:
    return mapping.map_flat_values(creation_ops.ones_like, data)


def _divided(total: Any, count: Any) -> Any:
    if tensor.is_ragged(total):
        return total.with_flat_values(total.flat_values / count.flat_values)
    return total / count


def reduced(
    reduce: Callable[..., Any],
    aggregate: Aggregate,
    data: Any,
    axis: Any,
    keepdims: bool | None,
    name: str | None = None,
) -> Any:
    """Return the aggregate along axes, of which there may be several. None means all axes.

    `reduce(tensor, axis, name=name)` is the aggregate along axes of a tensor.

    Raises:
        ValueError: `keepdims` is true, or `axis` is a tensor whose value is not known.
    """
    if not tensor.is_ragged(data):
        return reduce(data, axis, name=name)
    if keepdims:
        raise ValueError("keepdims=True is not supported for RaggedTensors.")
    data = tensor.converted(data, name="rt_input")
    axis = _known(axis)
    if axis is None:
        return reduce(data.flat_values, None, name=name)
    with scoped(name, "RaggedReduce", (data,)):
        axes = [axis] if isinstance(axis, int) else list(axis)
        if len(axes) > 1:
            axes = sorted(partition.positive_axis(each, data.shape.ndims) for each in axes)
        for each in reversed(axes):
            data = _along(reduce, aggregate, data, each)
        return data


def _known(axis: Any) -> Any:
    if isinstance(axis, graphs.Tensor):
        axis = convert.constant_value(axis)
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
    return axis.tolist() if isinstance(axis, np.ndarray | np.generic) else axis


def _along(reduce: Callable[..., Any], aggregate: Aggregate, data: Any, axis: int) -> Any:
    if not tensor.is_ragged(data):
        return reduce(data, axis)
    axis = partition.positive_axis(axis, data.shape.ndims)
    if axis > 1:
        return data.with_values(_along(reduce, aggregate, data.values, axis - 1))
    if axis == 1:
        count = raw.Size(data.row_splits) - 1
        rows = row_ids.row_splits_to_segment_ids(data.row_splits)
        return aggregated(aggregate, data.values, rows, count)
    lengths = partition.lengths_of(data.row_splits)
    widest = raw.Maximum(reduce_ops.reduce_max(lengths), 0)
    columns = ranges.range(lengths).values
    return aggregated(aggregate, data.values, columns, widest)


def _reduction(reduce: Callable[..., Any], aggregate: Aggregate, title: str) -> Callable[..., Any]:
    def along(
        input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
    ) -> Any:
        return reduced(reduce, aggregate, input_tensor, axis, keepdims, name or title)

    return along


reduce_sum = _reduction(reduce_ops.reduce_sum, gather_ops.unsorted_segment_sum, "RaggedReduceSum")
reduce_prod = _reduction(
    reduce_ops.reduce_prod, segment_ops.unsorted_segment_prod, "RaggedReduceProd"
)
reduce_min = _reduction(reduce_ops.reduce_min, segment_ops.unsorted_segment_min, "RaggedReduceMin")
reduce_max = _reduction(reduce_ops.reduce_max, segment_ops.unsorted_segment_max, "RaggedReduceMax")


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    with scoped(name, "RaggedReduceMean", (input_tensor,)):
        data = tensor.converted(input_tensor)
        total = reduce_sum(data, axis, keepdims)
        return _divided(total, reduce_sum(_ones(data), axis, keepdims))


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    with scoped(name, "RaggedReduceAll", (input_tensor,)):
        return _logical(reduce_prod, input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    with scoped(name, "RaggedReduceAny", (input_tensor,)):
        return _logical(reduce_sum, input_tensor, axis, keepdims)


def _logical(
    reduce: Callable[..., Any], data: Any, axis: int | Sequence[int] | None, keepdims: bool | None
) -> Any:
    numbers = mapping.map_flat_values(math_ops.cast, data, dtypes.int32)
    return mapping.map_flat_values(math_ops.cast, reduce(numbers, axis, keepdims), dtypes.bool_)
