"""`tf.data.experimental.bucket_by_sequence_length` (data/experimental/ops/grouping.py)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import check_ops, data_padding, data_structure
from capstan.api.data_grouping import group_by_window
from capstan.api.dataset import Dataset
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Callable[[Dataset], Dataset]:
    """Return a transformation to padded batches of elements with similar lengths.

    Bucket `i` has the elements whose length is less than `bucket_boundaries[i]` and not less than
    the boundary before, and the last bucket has the rest. A batch of the bucket has
    `bucket_batch_sizes[i]` elements. `element_length_func(element)` returns an int32. With
    `pad_to_bucket_boundary`, unknown sizes become the boundary less one, and a step fails with
    InvalidArgumentError if an element is longer than all boundaries. `no_padding` only stacks.

    Raises:
        ValueError: the number of batch sizes is not one more than the number of boundaries.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    boundaries = np.array(bucket_boundaries, np.int64)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def bucket(*element: Any) -> Any:
        length = raw.Cast(element_length_func(*element), DstT=dtypes.int64)
        is_passed = raw.LessEqual(convert.convert_to_tensor(boundaries), length)
        return raw.Sum(raw.Cast(is_passed, DstT=dtypes.int64), np.int32(0))

    def size(number: Any) -> Any:
        return raw.GatherV2(convert.convert_to_tensor(sizes), number, np.int32(0))

    def batched(number: Any, window: Any) -> Any:
        if no_padding:
            return window.batch(size(number), drop_remainder=drop_remainder)
        filler = None
        if pad_to_bucket_boundary:
            check = check_ops.assert_less(
                number,
                np.int64(len(boundaries)),
                message="When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries).",
            )
            with graphs.get_default_graph().control_dependencies([check]):
                limits = convert.convert_to_tensor(boundaries)
                filler = raw.GatherV2(limits, number, np.int32(0)) - np.int64(1)
        shapes = _padded(window._spec, padded_shapes, filler)
        return window.padded_batch(size(number), shapes, padding_values, drop_remainder)

    return lambda dataset: group_by_window(bucket, batched, window_size_func=size)(dataset)


def _padded(spec: Any, padded_shapes: Any, filler: Any) -> Any:
    """Return the shapes of the padding. `filler` replaces the unknown sizes if it is given."""
    leaves = data_structure.flatten(spec)
    found = data_padding.leaf_values(spec, padded_shapes, [leaf.packed_shape for leaf in leaves])
    if filler is not None:
        found = [_filled(shape, filler) for shape in found]
    rest = iter(found)
    return data_structure.mapped(lambda leaf: next(rest), spec)


def _filled(shape: Any, filler: Any) -> Any:
    sizes = shape if isinstance(shape, list | tuple) else shape.as_list()
    if None not in sizes:
        return shape
    return raw.Pack([filler if size is None else np.int64(size) for size in sizes])
