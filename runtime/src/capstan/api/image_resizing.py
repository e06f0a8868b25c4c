"""Functions that resize images (python/ops/image_ops_impl.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.api.image_batches import unbatched
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class ResizeMethod:
    """The ways of `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return a batch of images with the height and width `size`, as float32."""
    return raw.ResizeBilinear(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return a batch of images with the height and width `size`. Each pixel is an old one."""
    return raw.ResizeNearestNeighbor(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return a batch of images with the height and width `size`, as float32."""
    return raw.ResizeBicubic(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Any:
    """Return a batch of images with the height and width `size`, as float32 averages."""
    return raw.ResizeArea(images, size, align_corners=align_corners, name=name)


_RESIZE: dict[int, Callable[..., Any]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def resize_images(
    images: Any,
    size: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Return an image or a batch with the height and width `size`.

    The result is float32, unless the method is NEAREST_NEIGHBOR or the images have this size
    already. With `preserve_aspect_ratio`, the images fit into `size`.

    Raises:
        ValueError: the images or the size have the wrong rank, the rank of the images is unknown,
            the size is not of integers, or there is no such method.
    """
    if method not in _RESIZE:
        raise ValueError("Resize method is not implemented.")

    def resize(batch: Any, new: Any) -> Any:
        return _RESIZE[method](batch, new, align_corners=align_corners)

    return resized(images, size, resize, preserve_aspect_ratio, name)


def resized(
    images: Any,
    size: Any,
    resize: Callable[[Any, Any], Any],
    preserve_aspect_ratio: bool,
    name: str | None,
    *,
    is_always_resized: bool = False,
) -> Any:
    """Return an image or a batch as `resize(batch, size)` makes it.

    Images of this size already are returned unchanged unless `is_always_resized`.

    Raises:
        ValueError: as `resize_images`.
    """
    with scoped(name, "resize", [images, size]):
        images = convert.convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            raise ValueError("'images' contains no shape.")
        if images.shape.ndims not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        is_single = images.shape.ndims == 3
        value = array_ops.expand_dims(images, 0) if is_single else images
        try:
            new = convert.convert_to_tensor(size, dtypes.int32, "size")
        except (TypeError, ValueError):
            raise ValueError(f"'size' must be a 1-D int32 Tensor, not {size!r}") from None
        if not new.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            new = _fitted(value, new)
        known = new.op.constant_value()
        is_same = known is not None and value.shape.as_list()[1:3] == known.tolist()
        if is_same and not is_always_resized:
            return unbatched(value, is_single)
        return unbatched(resize(value, new), is_single)


def _fitted(images: Any, size: Any) -> Any:
    """Return the largest size with the ratio of the images that fits into `size`."""
    old = math_ops.cast(array_ops.shape(images)[1:3], dtypes.float32)
    ratios = math_ops.cast(size, dtypes.float32) / old
    scale = math_ops.minimum(ratios[0], ratios[1])
    return math_ops.cast(math_ops.round(old * scale), dtypes.int32)
