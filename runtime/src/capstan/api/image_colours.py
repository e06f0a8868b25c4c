"""Functions that change the values of images (python/ops/image_ops_impl.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    image_batches,
    logic_ops,
    math_functions,
    math_ops,
    plain,
    random_ops,
    reduce_ops,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_GREY = (0.2989, 0.5870, 0.1140)
_AXES = [-1, -2, -3]

rgb_to_hsv = plain.function("rgb_to_hsv", "RGBToHSV", "Return RGB images as HSV images of floats.")
hsv_to_rgb = plain.function("hsv_to_rgb", "HSVToRGB", "Return HSV images as RGB images of floats.")


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """Return images as another dtype, scaled from the range of the one to the range of the other.

    The range of a float type is from 0 to 1. With `saturate`, values out of range become the
    nearest bound.
    """
    value = convert.convert_to_tensor(image, name="image")
    old, new = value.dtype, dtypes.as_dtype(dtype)
    if old == new:
        return array_ops.identity(value, name=name)
    cast: Callable[..., Any] = math_ops.saturate_cast if saturate else math_ops.cast
    with scoped(name, "convert_image", [value]) as scope:
        if old.is_integer and new.is_integer:
            return _between_integers(value, new, cast, scope)
        if old.is_floating and new.is_floating:
            return math_ops.cast(value, new, name=scope)
        if old.is_integer:
            return math_ops.multiply(math_ops.cast(value, new), 1.0 / old.max, name=scope)
        return cast(math_ops.multiply(value, new.max + 0.5), new, name=scope)


def _between_integers(value: Any, new: dtypes.DType, cast: Callable[..., Any], name: str) -> Any:
    old = value.dtype
    if old.max > new.max:
        scaled = math_ops.floordiv(value, (old.max + 1) // (new.max + 1))
        return cast(scaled, new, name=name)
    wide = cast(value, new)
    return math_ops.multiply(wide, (new.max + 1) // (old.max + 1), name=name)


def _in_floats(image: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to images as float32, or in their own float type, and convert them back."""
    value = convert.convert_to_tensor(image, name="image")
    own = value.dtype
    floats = value if own in (dtypes.float16, dtypes.float32) else None
    changed = change(convert_image_dtype(value, dtypes.float32) if floats is None else floats)
    return convert_image_dtype(changed, own, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """Add `delta` to images, as if their values were between 0 and 1."""
    with scoped(None, "adjust_brightness", [image, delta]):
        return _in_floats(image, lambda x: math_ops.add(x, math_ops.cast(delta, x.dtype)))


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Multiply the distance of each pixel from the mean of its channel by a factor."""
    with scoped(None, "adjust_contrast", [images, contrast_factor]):
        return _in_floats(images, lambda x: raw.AdjustContrastv2(x, contrast_factor))


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """Return `gain * image ** gamma`, as if the values were between 0 and 1.

    Raises:
        ValueError: `gamma` is a negative number.
        InvalidArgumentError: when the images are computed, if `gamma` is a negative tensor.
    """
    is_number = isinstance(gamma, int | float)
    with scoped(None, "adjust_gamma", [image, gamma, gain]):
        is_allowed = gamma >= 0 if is_number else logic_ops.greater_equal(gamma, 0)
        image = convert.convert_to_tensor(image, name="image")
        image = image_batches.checked(
            image, (is_allowed, "Gamma should be a non-negative real number.")
        )
        return _in_floats(image, lambda x: math_ops.multiply(math_ops.pow(x, gamma), gain))


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """Turn the hue of RGB images by `delta`, where 1 is a full turn."""
    with scoped(name, "adjust_hue", [image]):
        return _in_floats(image, lambda x: raw.AdjustHue(x, delta))


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """Multiply the saturation of RGB images by a factor."""
    with scoped(name, "adjust_saturation", [image]):
        return _in_floats(image, lambda x: raw.AdjustSaturation(x, saturation_factor))


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Do what `adjust_brightness` does, with a random number in [-max_delta, max_delta)."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, _drawn(-max_delta, max_delta, seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Do what `adjust_contrast` does, with a random number in [lower, upper)."""
    _check_bounds(lower, upper)
    return adjust_contrast(image, _drawn(lower, upper, seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Do what `adjust_hue` does, with a random number in [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, _drawn(-max_delta, max_delta, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Do what `adjust_saturation` does, with a random number in [lower, upper)."""
    _check_bounds(lower, upper)
    return adjust_saturation(image, _drawn(lower, upper, seed))


def _check_bounds(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def _drawn(lower: float, upper: float, seed: int | None) -> Any:
    return random_ops.random_uniform([], lower, upper, seed=seed)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """Return RGB images as grey images, with one channel."""
    with scoped(name, "rgb_to_grayscale", [images]) as scope:
        value = convert.convert_to_tensor(images, name="images")
        floats = convert_image_dtype(value, dtypes.float32)
        grey = reduce_ops.reduce_sum(math_ops.multiply(floats, list(_GREY)), -1, keepdims=True)
        return convert_image_dtype(grey, value.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """Return grey images as RGB images: the last axis, of size 1, is repeated three times.

    Raises:
        ValueError: the images have fewer than two axes, or a last axis of another size.
        InvalidArgumentError: the same, if it is found only when the images are computed.
    """
    with scoped(name, "grayscale_to_rgb", [images]) as scope:
        value = _grey(convert.convert_to_tensor(images, name="images"))
        return array_ops.concat([value] * 3, -1, name=scope)


def _grey(images: Any) -> Any:
    """Return grey images. What is not known of their shape is checked when the graph runs."""
    rank = images.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError("A grayscale image must be at least two-dimensional.")
    size = None if rank is None else images.shape.as_list()[-1]
    is_grey = logic_ops.equal(array_ops.shape(images)[-1], 1) if size is None else size == 1
    message = "Last dimension of a grayscale image should be size 1."
    return image_batches.checked(images, (is_grey, message))


def per_image_standardization(image: Any) -> Any:
    """Return images as float32 with mean 0 and variance 1.

    The divisor is at least 1 / sqrt(number of values), so an image of one colour becomes zeros.
    """
    with scoped(None, "per_image_standardization", [image]) as scope:
        floats = math_ops.cast(convert.convert_to_tensor(image, name="image"), dtypes.float32)
        count = reduce_ops.reduce_prod(array_ops.shape(floats)[-3:])
        mean = reduce_ops.reduce_mean(floats, _AXES, keepdims=True)
        # A difference of mean squares would lose a small variance beside a large mean.
        deviation = math_functions.reduce_std(floats, _AXES, keepdims=True)
        least = math_ops.rsqrt(math_ops.cast(count, dtypes.float32))
        centred = math_ops.subtract(floats, mean)
        return math_ops.divide(centred, math_ops.maximum(deviation, least), name=scope)
