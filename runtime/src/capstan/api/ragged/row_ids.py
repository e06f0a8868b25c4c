"""Row splits as the row of each value, and back (python/ops/ragged/segment_id_ops.py)."""

from typing import Any

from capstan.api import arrangement_ops, counting_ops
from capstan.api.ragged import partition
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """Return the row of each value, from the row splits. `out_type` is by default their dtype.

    Raises:
        ValueError: the splits are not a vector of int32 or int64, or are empty.
    """
    with scoped(name, "RaggedSplitsToSegmentIds", (splits,)):
        splits = convert.convert_to_tensor(splits, name="splits", preferred_dtype=dtypes.int64)
        if splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if tensor_shape.dimension_value(splits.shape[0]) == 0:
            raise ValueError("Invalid row_splits: []")
        kind = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        rows = raw.Range(0, partition.count_of(splits, kind) - 1, 1)
        return arrangement_ops.repeat(rows, partition.lengths_of(splits), axis=0)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """Return the row splits, from the sorted rows of the values.

    `num_segments` is the number of rows, and by default the last row decides. The result has
    `out_type`, by default that of the tensors among the arguments, or int64.

    Raises:
        TypeError, ValueError: `segment_ids` is not a vector of integers, or `num_segments` is not a
            scalar.
    """
    tensors = [part for part in (segment_ids, num_segments) if isinstance(part, graphs.Tensor)]
    kind = tensors[0].dtype.base_dtype if tensors else dtypes.int64
    kind = kind if out_type is None else dtypes.as_dtype(out_type)
    with scoped(name, "SegmentIdsToRaggedSplits", (segment_ids,)):
        ids = partition.as_int(segment_ids, "segment_ids", dtypes.int32)
        ids.shape.assert_has_rank(1)
        count = None
        if num_segments is not None:
            count = partition.as_int(num_segments, "num_segments", dtypes.int32)
            count.shape.assert_has_rank(0)
        lengths = counting_ops.bincount(ids, minlength=count, maxlength=count, dtype=kind)
        splits = partition.splits_of(lengths)
        known = None if count is None else convert.constant_value(count)
        if known is not None:
            splits.set_shape([int(known) + 1])
        return splits
