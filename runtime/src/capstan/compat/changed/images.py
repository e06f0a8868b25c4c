"""Functions of `tf.compat.v2.image` (python/ops/image_ops_impl.py)."""

import sys
from typing import Any, Final

from capstan.api import image_padding, image_resizing, random_ops
from capstan.core import dtypes

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]


class ResizeMethod:
    """The ways of `resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_SMOOTHED: Final = {ResizeMethod.BILINEAR: "triangle", ResizeMethod.BICUBIC: "keyscubic"}
"""The kernels that take the place of the operations of these methods for `antialias`."""
_KERNELS: Final = (
    *(ResizeMethod.LANCZOS3, ResizeMethod.LANCZOS5, ResizeMethod.GAUSSIAN),
    ResizeMethod.MITCHELLCUBIC,
)
_CENTRED: Final = {
    ResizeMethod.BILINEAR: image_resizing.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: image_resizing.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: image_resizing.resize_bicubic,
}


def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Return an image or a batch with the height and width `size`.

    A pixel is a square with its value in the middle. The result is float32, unless the method is
    "nearest". With `antialias`, a pixel of a smaller image depends on all pixels that it covers;
    "nearest" and "area" ignore it. With `preserve_aspect_ratio`, the images fit into `size`.

    Raises:
        ValueError: the images or the size have the wrong rank, the rank of the images is unknown,
            the size is not of integers, or there is no such method.
    """

    def resized(batch: Any, new: Any) -> Any:
        if method == ResizeMethod.AREA:
            return image_resizing.resize_area(batch, new)
        kernel = _SMOOTHED.get(method) if antialias else None
        if kernel is None and method in _CENTRED:
            return _CENTRED[method](batch, new, half_pixel_centers=True)
        if kernel is None and method not in _KERNELS:
            raise ValueError("Resize method is not implemented.")
        ratio = tf.cast(new, dtypes.float32) / tf.cast(tf.shape(batch)[1:3], dtypes.float32)
        return tf.raw_ops.ScaleAndTranslate(
            images=batch, size=new, scale=ratio, translation=tf.zeros([2]),
            kernel_type=kernel or method, antialias=antialias,
        )  # fmt: skip

    return image_resizing.resized(
        images, size, resized, preserve_aspect_ratio, name, is_always_resized=True
    )


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Return an image or a batch of the target size, without a change of its proportions.

    The images are resized until their height or their width fits, and get zeros on both sides of
    the other axis.

    Raises:
        ValueError: a target is not positive, or the images have neither 3 nor 4 axes.
    """
    return image_padding.padded(
        image, target_height, target_width,
        lambda value, size: resize(value, size, method, antialias=antialias),
    )  # fmt: skip


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """As `tf.image.extract_glimpse`, with "uniform", "gaussian" or "zero" as the noise."""
    return tf.raw_ops.ExtractGlimpse(
        input=input, size=size, offsets=offsets, centered=centered, normalized=normalized,
        noise=noise, uniform_noise=False, name=name,
    )  # fmt: skip


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """As `tf.image.sample_distorted_bounding_box`. The seed 0 stands for fresh numbers."""
    first = random_ops.seeds(seed) if seed else {"seed": 0, "seed2": 0}
    return tf.image.sample_distorted_bounding_box(
        image_size, bounding_boxes, first["seed"], first["seed2"], min_object_covered,
        aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes, name,
    )  # fmt: skip
