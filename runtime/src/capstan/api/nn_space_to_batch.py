"""Windows whose pixels are apart, made by moving pixels into the batch (python/ops/nn_ops.py).

`required_space_to_batch_paddings` is in python/ops/array_ops.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["required_space_to_batch_paddings"]


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return the margins with which blocks cover a tensor, and how much of them to crop again.

    `input_shape` has the sizes of N axes, and `block_shape` the sizes of a block. `base_paddings`
    has a row (least size before, least size after) for each axis; it is zero by default. The
    results are the arguments `paddings` of `space_to_batch_nd` and `crops` of `batch_to_space_nd`:
    int32 tensors [N, 2], which are constants if all arguments are.

    Raises:
        ValueError: the arguments do not have the same, known N.
    """
    given = (input_shape, block_shape)
    with scoped(name, "required_space_to_batch_paddings", given):
        sizes = convert.convert_to_tensor(input_shape, dtypes.int32, "input_shape")
        block = convert.convert_to_tensor(block_shape, dtypes.int32, "block_shape")
        block.shape.assert_is_fully_defined()
        block.shape.assert_has_rank(1)
        count = _length(block)
        if not count:
            nothing = np.zeros([0, 2], np.int32)
            return convert.constant(nothing), convert.constant(nothing)
        sizes.shape.assert_is_compatible_with([count])
        least = np.zeros([count, 2], np.int32) if base_paddings is None else base_paddings
        margins = convert.convert_to_tensor(least, dtypes.int32, "base_paddings")
        margins.shape.assert_is_compatible_with([count, 2])
        return _paddings(_known(sizes), _known(block), _known(margins), count)


def _length(vector: Any) -> int:
    return int(vector.shape.as_list()[0])


def _known(tensor: Any) -> Any:
    value = convert.constant_value(tensor)
    return tensor if value is None else value


def _paddings(sizes: Any, block: Any, margins: Any, count: int) -> tuple[Any, Any]:
    before, after = margins[:, 0], margins[:, 1]
    # Python's remainder of a negative number is what the last block lacks.
    extra = -(sizes + before + after) % block
    last = after + extra
    return (
        array_ops.stack([[before[i], last[i]] for i in range(count)], name="paddings"),
        array_ops.stack([[0, extra[i]] for i in range(count)], name="crops"),
    )


def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Any, int, str], Any],
    filter_shape: Any = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Any:
    """Apply `op` to pixels that are `dilation_rate` apart.

    `dilation_rate` has one number for each spatial axis. The pixels between two others become
    images of their own, `op` computes images of these, and they are put together again. `op` takes
    the images, the number of spatial axes and the padding "VALID". If the rates are known and all
    are 1, it takes `input` and `padding` themselves. "SAME" needs `filter_shape`, which begins with
    the sizes of the window. `spatial_dims` are the numbers of the spatial axes. The default is from
    1, or from 2 for a format that begins with "NC".

    Raises:
        ValueError: a rate is below 1, the padding is unknown, `filter_shape` is missing, or the
            axes are not positive and increasing.
    """
    images = convert.convert_to_tensor(input, name="input")
    rate = convert.convert_to_tensor(dilation_rate, dtypes.int32, "dilation_rate")
    rate.shape.assert_has_rank(1)
    if not rate.shape.is_fully_defined():
        raise ValueError(f"rate must have a fully defined shape, not {rate.shape}")
    count = _length(rate)
    axes = _axes(spatial_dims, count, channels_first=str(data_format or "").startswith("NC"))
    if images.shape.ndims is not None and images.shape.ndims < axes[-1] + 1:
        raise ValueError(f"input must have rank {axes[-1] + 1} at least, not {images.shape.ndims}")
    known = convert.constant_value(rate)
    if known is not None and (known < 1).any():
        raise ValueError(f"dilation_rate must be positive, not {known.tolist()}")
    if known is not None and (known == 1).all():
        return op(images, count, padding)
    least = _least_margins(padding, filter_shape, _known(rate), count)
    paddings, crops = required_space_to_batch_paddings(_sizes(images, axes), rate, least)
    rate = _spread(_known(rate), 1, axes)
    paddings, crops = (_spread(_known(each), [0, 0], axes) for each in (paddings, crops))
    result = op(raw.SpaceToBatchND(images, rate, paddings), count, "VALID")
    return raw.BatchToSpaceND(result, rate, crops)


def _axes(given: Sequence[int] | None, count: int, *, channels_first: bool) -> list[int]:
    first = 2 if channels_first else 1
    axes = list(range(first, first + count)) if given is None else [int(axis) for axis in given]
    if axes != sorted(set(axes)) or any(axis < 1 for axis in axes):
        raise ValueError(
            "spatial_dims must be a monotonically increasing sequence of positive integers, "
            f"not {axes}"
        )
    return axes


def _least_margins(padding: str, filter_shape: Any, rate: Any, count: int) -> Any:
    """Return the margins that make "VALID" of the padding, before any for whole blocks."""
    if padding == "VALID":
        return np.zeros([count, 2], np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    window = _known(convert.convert_to_tensor(filter_shape, dtypes.int32, "filter_shape"))[:count]
    margin = (window - 1) * rate
    before = margin // 2
    return array_ops.stack([[before[i], margin[i] - before[i]] for i in range(count)])


def _sizes(images: Any, axes: Sequence[int]) -> Any:
    if images.shape.ndims is not None:
        sizes = [images.shape.as_list()[axis] for axis in axes]
        if None not in sizes:
            return sizes
    shape = raw.Shape(images)
    return array_ops.stack([shape[axis] for axis in axes])


def _spread(rows: Any, fill: Any, axes: Sequence[int]) -> Any:
    """Return rows for all axes from 1: those of `axes`, and `fill` for the axes between."""
    if list(axes) == list(range(1, len(axes) + 1)):
        return rows
    places = {axis: rows[index] for index, axis in enumerate(axes)}
    return array_ops.stack([places.get(axis, fill) for axis in range(1, axes[-1] + 1)])
