"""Functions of `tf.keras.backend` that enlarge and pad images (python/keras/backend.py).

`data_format` is channels_last, channels_first or None, which stands for `image_data_format()`. A
wrong value raises ValueError.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import arrangement_ops, array_ops
from capstan.api.image import ResizeMethod
from capstan.api.image import resize_images as resized
from capstan.api.layers import settings


def _is_first(data_format: str | None) -> bool:
    return settings.data_format(data_format) == "channels_first"


def temporal_padding(x: Any, padding: Sequence[int] = (1, 1)) -> Any:
    """Put zeros in front of and behind the middle axis of a tensor with three axes."""
    return array_ops.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: Any, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Put zeros around images. `padding` has the sizes in front and behind for each axis."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any,
    padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
    data_format: str | None = None,
) -> Any:
    """Put zeros around volumes. `padding` has the sizes in front and behind for each axis."""
    return _padded(x, padding, data_format)


def _padded(x: Any, padding: Sequence[Sequence[int]], data_format: str | None) -> Any:
    rank = x.shape.ndims - 2
    if len(padding) != rank or any(len(pair) != 2 for pair in padding):
        raise ValueError(f"`padding` must have {rank} pairs of integers, not {padding}")
    pairs, none = [list(pair) for pair in padding], [0, 0]
    pattern = [none, none, *pairs] if _is_first(data_format) else [none, *pairs, none]
    return array_ops.pad(x, pattern)


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Any:
    """Repeat the elements of volumes along each spatial axis."""
    first = 2 if _is_first(data_format) else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = arrangement_ops.repeat(x, factor, axis=axis)
    return x


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Enlarge images: repeat pixels (`nearest`), or interpolate between them (`bilinear`).

    Raises:
        ValueError: the interpolation is neither nearest nor bilinear.
    """
    is_first = _is_first(data_format)
    if interpolation == "nearest":
        first = 2 if is_first else 1
        rows = arrangement_ops.repeat(x, height_factor, axis=first)
        return arrangement_ops.repeat(rows, width_factor, axis=first + 1)
    if interpolation != "bilinear":
        raise ValueError(f"`interpolation` is 'nearest' or 'bilinear', not {interpolation!r}")
    images = array_ops.transpose(x, [0, 2, 3, 1]) if is_first else x
    sizes = array_ops.shape(images)[1:3] * [height_factor, width_factor]
    enlarged = resized(images, sizes, ResizeMethod.BILINEAR)
    return array_ops.transpose(enlarged, [0, 3, 1, 2]) if is_first else enlarged
