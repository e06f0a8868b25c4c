"""Functions that cut, pad and turn images (python/ops/image_ops_impl.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, cond_ops, math_ops, random_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert


def as_batch(images: Any) -> tuple[Any, bool]:
    """Return images as a batch, and whether there was one image.

    Raises:
        ValueError: the rank is unknown.
    """
    value = convert.convert_to_tensor(images, name="images")
    if value.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    is_single = value.shape.ndims == 3
    return (array_ops.expand_dims(value, 0) if is_single else value), is_single


def unbatched(images: Any, is_single: bool) -> Any:
    """Return a batch, or its only image if `is_single`."""
    return array_ops.squeeze(images, [0]) if is_single else images


def _sizes(images: Any) -> tuple[Any, Any]:
    """Return the height and the width of a batch: numbers where known, or else tensors."""
    known, sizes = images.shape.as_list(), array_ops.shape(images)
    height, width = (sizes[axis] if known[axis] is None else known[axis] for axis in (1, 2))
    return height, width


def central_crop(image: Any, central_fraction: float) -> Any:
    """Return the middle of images, which has this fraction of their height and width.

    Raises:
        ValueError: the fraction is not in (0, 1].
    """
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    value, is_single = as_batch(image)
    if central_fraction == 1.0:
        return unbatched(value, is_single)

    def kept(size: Any) -> tuple[Any, Any]:
        if isinstance(size, int):
            start = int((size - size * central_fraction) / 2)
            return start, size - 2 * start
        full = math_ops.cast(size, dtypes.float64)
        start = math_ops.cast((full - full * central_fraction) / 2, dtypes.int32)
        return start, size - 2 * start

    (top, height), (left, width) = map(kept, _sizes(value))
    return unbatched(_cut(value, top, left, height, width), is_single)


def _cut(images: Any, top: Any, left: Any, height: Any, width: Any) -> Any:
    part = array_ops.slice(
        images, array_ops.stack([0, top, left, 0]), array_ops.stack([-1, height, width, -1])
    )
    count, *_, channels = images.shape.as_list()
    sides = [side if isinstance(side, int) else None for side in (height, width)]
    part.set_shape([count, *sides, channels])
    return part


def _check(*conditions: tuple[Any, str]) -> None:
    """Check the conditions that are known while the graph is built.

    Raises:
        ValueError: a condition does not hold.
    """
    for condition, message in conditions:
        if isinstance(condition, bool) and not condition:
            raise ValueError(message)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Return the part of images with this upper left corner and this size.

    Raises:
        ValueError: the part is not inside of the images.
    """
    value, is_single = as_batch(image)
    height, width = _sizes(value)
    _check(
        (offset_width >= 0, "offset_width must be >= 0."),
        (offset_height >= 0, "offset_height must be >= 0."),
        (target_width > 0, "target_width must be > 0."),
        (target_height > 0, "target_height must be > 0."),
        (width >= target_width + offset_width, "width must be >= target + offset."),
        (height >= target_height + offset_height, "height must be >= target + offset."),
    )
    part = _cut(value, offset_height, offset_width, target_height, target_width)
    return unbatched(part, is_single)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Return images of the target size with the images at this place, and zeros around them.

    Raises:
        ValueError: the images do not fit.
    """
    value, is_single = as_batch(image)
    height, width = _sizes(value)
    below, right = target_height - offset_height - height, target_width - offset_width - width
    _check(
        (offset_height >= 0, "offset_height must be >= 0"),
        (offset_width >= 0, "offset_width must be >= 0"),
        (right >= 0, "width must be <= target - offset"),
        (below >= 0, "height must be <= target - offset"),
    )
    margins = array_ops.stack([0, 0, offset_height, below, offset_width, right, 0, 0])
    padded = array_ops.pad(value, array_ops.reshape(margins, [4, 2]))
    if isinstance(target_height, int) and isinstance(target_width, int):
        padded.set_shape([None, target_height, target_width, None])
    return unbatched(padded, is_single)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Return images of the target size: their middle, with zeros around them where they are small.

    Raises:
        ValueError: a target is not positive.
    """
    with scoped(None, "resize_image_with_crop_or_pad", [image]):
        value, is_single = as_batch(image)
        height, width = _sizes(value)
        _check(
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
        )
        tall, wide = _least(target_height, height), _least(target_width, width)
        part = _cut(
            value, _half(_most(height - target_height)), _half(_most(width - target_width)), tall,
            wide,
        )  # fmt: skip
        padded = pad_to_bounding_box(
            part,
            _half(_most(target_height - height)),
            _half(_most(target_width - width)),
            target_height,
            target_width,
        )
        return unbatched(padded, is_single)


def _least(x: Any, y: Any) -> Any:
    both = isinstance(x, int) and isinstance(y, int)
    return min(x, y) if both else math_ops.minimum(x, y)


def _most(x: Any) -> Any:
    return max(x, 0) if isinstance(x, int) else math_ops.maximum(x, 0)


def _half(x: Any) -> Any:
    return x // 2


def flip_left_right(image: Any) -> Any:
    """Return images with left and right exchanged."""
    value, is_single = as_batch(image)
    return unbatched(value[:, :, ::-1], is_single)


def flip_up_down(image: Any) -> Any:
    """Return images with top and bottom exchanged."""
    value, is_single = as_batch(image)
    return unbatched(value[:, ::-1], is_single)


def transpose_image(image: Any, name: str | None = None) -> Any:
    """Return images with rows and columns exchanged."""
    with scoped(name, "transpose_image", [image]):
        value, is_single = as_batch(image)
        return unbatched(array_ops.transpose(value, [0, 2, 1, 3]), is_single)


def rot90(image: Any, k: int = 1, name: str | None = None) -> Any:
    """Return images turned counter-clockwise by `k` quarters."""
    with scoped(name, "rot90", [image]):
        value, is_single = as_batch(image)
        for _ in range(k % 4):
            value = array_ops.transpose(value, [0, 2, 1, 3])[:, ::-1]
        return unbatched(value, is_single)


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Do what `flip_left_right` does to each image, or nothing, with probability 1/2."""
    return _random_flip(image, lambda value: value[:, :, ::-1], seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Do what `flip_up_down` does to each image, or nothing, with probability 1/2."""
    return _random_flip(image, lambda value: value[:, ::-1], seed)


def _random_flip(image: Any, flip: Callable[[Any], Any], seed: int | None) -> Any:
    value, is_single = as_batch(image)
    if is_single:
        is_flipped = random_ops.random_uniform([], seed=seed) < 0.5
        chosen = cond_ops.cond(is_flipped, lambda: flip(value), lambda: array_ops.identity(value))
        return unbatched(chosen, is_single)
    draws = random_ops.random_uniform(array_ops.shape(value)[:1], seed=seed)
    flags = array_ops.reshape(math_ops.cast(math_ops.round(draws), value.dtype), [-1, 1, 1, 1])
    return flags * flip(value) + (1 - flags) * value
