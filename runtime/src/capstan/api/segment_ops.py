"""TensorFlow 1's functions that combine rows with the same id, and that divide rows into parts.

Sources: python/ops/math_ops.py, python/ops/data_flow_ops.py.
"""

from typing import Any

from capstan.api import math_ops, plain
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "dynamic_partition", "segment_max", "segment_mean", "segment_min", "segment_prod",
    "segment_sum", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
    "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n",
]  # fmt: skip

segment_sum = plain.function(
    "segment_sum", "SegmentSum", "Sum the rows of each segment. The ids are sorted."
)
segment_mean = plain.function(
    "segment_mean", "SegmentMean", "Return the mean of the rows of each segment."
)
segment_prod = plain.function("segment_prod", "SegmentProd", "Multiply the rows of each segment.")
segment_max = plain.function(
    "segment_max", "SegmentMax", "Return the largest elements of each segment."
)
segment_min = plain.function(
    "segment_min", "SegmentMin", "Return the smallest elements of each segment."
)
unsorted_segment_max = plain.function(
    "unsorted_segment_max",
    "UnsortedSegmentMax",
    "Return the largest elements of the rows with the same id. Empty segments get the lowest "
    "value.",
)
unsorted_segment_min = plain.function(
    "unsorted_segment_min",
    "UnsortedSegmentMin",
    "Return the smallest elements of the rows with the same id. Empty segments get the highest "
    "value.",
)
unsorted_segment_prod = plain.function(
    "unsorted_segment_prod", "UnsortedSegmentProd", "Multiply the rows that have the same id."
)


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Return the mean of the rows that have the same id, and 0 for ids without rows.

    The means of integers are floats, as those of `tf.truediv`.
    """
    with scoped(name, "UnsortedSegmentMean", (data, segment_ids)):
        sums, counts = _summed(data, segment_ids, num_segments)
        return math_ops.truediv(sums, counts)


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Sum the rows that have the same id, and divide by the square root of their number."""
    with scoped(name, "UnsortedSegmentSqrtN", (data, segment_ids)):
        sums, counts = _summed(data, segment_ids, num_segments)
        return raw.RealDiv(sums, raw.Sqrt(counts), name="truediv")


def _summed(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    """Return the sum of each segment, and its number of rows but at least 1, for division."""
    data = convert.convert_to_tensor(data)
    ids = convert.convert_to_tensor(segment_ids)
    flat = raw.Reshape(ids, [-1])
    kind = data.dtype.base_dtype
    ones = raw.Fill(raw.Shape(flat), raw.Cast(1, DstT=kind))
    counts = raw.UnsortedSegmentSum(ones, flat, num_segments)
    trailing = raw.OnesLike(raw.Slice(raw.Shape(data), raw.Reshape(raw.Rank(ids), [1]), [-1]))
    counts = raw.Reshape(counts, raw.ConcatV2([raw.Shape(counts), trailing], 0))
    sums = raw.UnsortedSegmentSum(data, ids, num_segments)
    return sums, raw.Maximum(counts, raw.OnesLike(counts))


def sparse_segment_sum(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Any:
    """Sum the rows of `data` at `indices` by segment. The ids of the segments are sorted.

    Without `num_segments`, the last id gives the number of segments.
    """
    return _sparse("SparseSegmentSum", data, indices, segment_ids, name, num_segments)


def sparse_segment_mean(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Any:
    """Return the mean of the rows of `data` at `indices` by segment.

    Without `num_segments`, the last id gives the number of segments.
    """
    return _sparse("SparseSegmentMean", data, indices, segment_ids, name, num_segments)


def sparse_segment_sqrt_n(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Any:
    """Sum the rows of `data` at `indices` by segment, divided by the square root of their number.

    Without `num_segments`, the last id gives the number of segments.
    """
    return _sparse("SparseSegmentSqrtN", data, indices, segment_ids, name, num_segments)


def _sparse(op: str, data: Any, indices: Any, ids: Any, name: str | None, count: Any) -> Any:
    if count is not None:
        return getattr(raw, f"{op}WithNumSegments")(data, indices, ids, count, name=name)
    return getattr(raw, op)(data, indices, ids, name=name)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> Any:
    """Return a list of `num_partitions` tensors: part i has the rows whose number is i."""
    return raw.DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)
