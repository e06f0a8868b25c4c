"""Functions that cut and pad images (python/ops/image_ops_impl.py)."""

from typing import Any

from capstan.api import array_ops, math_ops
from capstan.api.image_batches import batched, check_sizes, checked, unbatched
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs


def _sizes(images: Any) -> tuple[Any, Any]:
    """Return the height and the width of images: numbers where known, or else tensors."""
    known, sizes = images.shape.as_list(), array_ops.shape(images)
    first = len(known) - 3
    height, width = (
        sizes[axis] if known[axis] is None else known[axis] for axis in (first, first + 1)
    )
    return height, width


def central_crop(image: Any, central_fraction: float) -> Any:
    """Return the middle of images, which has this fraction of their height and width.

    Raises:
        ValueError: the fraction is not in (0, 1], or the images do not have 3 or 4 axes.
    """
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    with scoped(None, "central_crop", [image]):
        image = convert.convert_to_tensor(image, name="image")
        if central_fraction == 1.0:
            return image
        if image.shape.ndims is None:
            raise ValueError("'image' must have either 3 or 4 dimensions, but its rank is unknown.")
        check_sizes(image)
        return _centre(image, central_fraction)


def _centre(image: Any, central_fraction: float) -> Any:
    def kept(size: Any) -> tuple[Any, Any]:
        if isinstance(size, int):
            start = int((size - size * central_fraction) / 2)
            return start, size - 2 * start
        full = math_ops.cast(size, dtypes.float64)
        start = math_ops.cast((full - full * central_fraction) / 2, dtypes.int32)
        return start, size - 2 * start

    (top, height), (left, width) = map(kept, _sizes(image))
    return _cut(image, top, left, height, width)


def _cut(images: Any, top: Any, left: Any, height: Any, width: Any) -> Any:
    *batch, _, _, channels = images.shape.as_list()
    part = array_ops.slice(
        images,
        array_ops.stack([*(0 for _ in batch), top, left, 0]),
        array_ops.stack([*(-1 for _ in batch), height, width, -1]),
    )
    part.set_shape([*batch, *_known(height, width), channels])
    return part


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Return the part of images with this upper left corner and this size.

    An image of unknown rank is one image.

    Raises:
        ValueError: the part is not inside of the images, or the images do not have 3 or 4 axes.
    """
    with scoped(None, "crop_to_bounding_box", [image]):
        value, is_single = batched(image)
        height, width = _sizes(value)
        value = checked(
            value,
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

    An image of unknown rank is one image.

    Raises:
        ValueError: the images do not fit, or do not have 3 or 4 axes.
    """
    with scoped(None, "pad_to_bounding_box", [image]):
        value, is_single = batched(image)
        height, width = _sizes(value)
        value = checked(
            value,
            (offset_height >= 0, "offset_height must be >= 0"),
            (offset_width >= 0, "offset_width must be >= 0"),
            (target_width - offset_width - width >= 0, "width must be <= target - offset"),
            (target_height - offset_height - height >= 0, "height must be <= target - offset"),
        )
        padded = _padded(value, offset_height, offset_width, target_height, target_width)
        return unbatched(padded, is_single)


def _padded(images: Any, top: Any, left: Any, height: Any, width: Any) -> Any:
    old_height, old_width = _sizes(images)
    margins = array_ops.stack(
        [0, 0, top, height - top - old_height, left, width - left - old_width, 0, 0]
    )
    padded = array_ops.pad(images, array_ops.reshape(margins, [4, 2]))
    count, *_, channels = images.shape.as_list()
    padded.set_shape([count, *_known(height, width), channels])
    return padded


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Return images of the target size: their middle, with zeros around them where they are small.

    An image of unknown rank is one image.

    Raises:
        ValueError: a target is not positive, or the images do not have 3 or 4 axes.
    """
    with scoped(None, "resize_image_with_crop_or_pad", [image]):
        value, is_single = batched(image)
        height, width = _sizes(value)
        value = checked(
            value,
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
        )
        part = _cut(
            value,
            _most(height - target_height) // 2,
            _most(width - target_width) // 2,
            _least(target_height, height),
            _least(target_width, width),
        )
        padded = _padded(
            part,
            _most(target_height - height) // 2,
            _most(target_width - width) // 2,
            target_height,
            target_width,
        )
        return unbatched(padded, is_single)


def _known(*sizes: Any) -> list[int | None]:
    return [None if isinstance(size, graphs.Tensor) else int(size) for size in sizes]


def _least(x: Any, y: Any) -> Any:
    is_unknown = isinstance(x, graphs.Tensor) or isinstance(y, graphs.Tensor)
    return math_ops.minimum(x, y) if is_unknown else min(x, y)


def _most(x: Any) -> Any:
    return math_ops.maximum(x, 0) if isinstance(x, graphs.Tensor) else max(x, 0)
