"""Functions that fit images into a size, with zeros around them (python/ops/image_ops_impl.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, image_resizing, image_shapes, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: int = image_resizing.ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Return an image or a batch of the target size, without a change of its proportions.

    The images are resized until their height or their width fits, and get zeros on both sides of
    the other axis. The result is float32, unless the method is NEAREST_NEIGHBOR.

    Raises:
        ValueError: a target is not positive, or the images have neither 3 nor 4 axes.
    """

    def resize(value: Any, size: Any) -> Any:
        return image_resizing.resize_images(value, size, method, align_corners)

    return padded(image, target_height, target_width, resize)


def padded(
    image: Any, target_height: Any, target_width: Any, resize: Callable[[Any, Any], Any]
) -> Any:
    """Return what `resize_image_with_pad` returns, with `resize(image, size)` as the method."""
    with scoped(None, "resize_image_with_pad", [image]):
        value = convert.convert_to_tensor(image, name="images")
        if value.shape.ndims is None:
            value.set_shape([None] * 4)
        if value.shape.ndims not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        for name, target in (("target_width", target_width), ("target_height", target_height)):
            if isinstance(target, int) and target <= 0:
                raise ValueError(f"{name} must be > 0.")
        old = math_ops.cast(array_ops.shape(value)[-3:-1], dtypes.float32)
        new = math_ops.cast(array_ops.stack([target_height, target_width]), dtypes.float32)
        ratios = old / new
        fitted = old / math_ops.maximum(ratios[0], ratios[1])
        margins = math_ops.maximum(_rounded_down((new - fitted) / 2), 0)
        resized = resize(value, _rounded_down(fitted))
        return image_shapes.pad_to_bounding_box(
            resized, margins[0], margins[1], target_height, target_width
        )


def _rounded_down(sizes: Any) -> Any:
    return math_ops.cast(math_ops.floor(sizes), dtypes.int32)
