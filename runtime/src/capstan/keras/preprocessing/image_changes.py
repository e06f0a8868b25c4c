"""Random changes of single images, and the changes themselves
(keras_preprocessing/image/affine_transformations.py).

The random numbers are those of `numpy.random`.
"""

from typing import Any

import numpy as np

from capstan.keras.preprocessing import affine, image_files


def flip_axis(x: Any, axis: int) -> np.ndarray:
    """Return an image that is mirrored along an axis."""
    return np.flip(x, axis)


def random_rotation(
    x: Any,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """Return an image that is rotated by a random angle in [-rg, rg] degrees.

    `fill_mode`, `cval` and `interpolation_order` are those of `apply_affine_transform`.
    """
    return affine.apply_affine_transform(
        x, np.random.uniform(-rg, rg), 0, 0, 0, 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


def random_shift(
    x: Any,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """Return an image that is shifted by at most the parts `hrg` of its height, `wrg` of its width.

    The other arguments are those of `random_rotation`.
    """
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return affine.apply_affine_transform(
        x, 0, tx, ty, 0, 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


def random_shear(
    x: Any,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """Return an image that is sheared by a random angle in [-intensity, intensity] degrees.

    The other arguments are those of `random_rotation`.
    """
    return affine.apply_affine_transform(
        x, 0, 0, 0, np.random.uniform(-intensity, intensity), 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


def random_zoom(
    x: Any,
    zoom_range: Any,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Any:
    """Return an image that is zoomed by random factors in `zoom_range`, one for each axis.

    The other arguments are those of `random_rotation`.

    Raises:
        ValueError: the range is not a pair.
    """
    zx, zy = random_factors(zoom_range)
    return affine.apply_affine_transform(
        x, 0, 0, 0, 0, zx, zy,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


def random_factors(zoom_range: Any) -> Any:
    """Return two random numbers in the range. The range [1, 1] takes no random numbers."""
    if len(zoom_range) != 2:
        raise ValueError(
            f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}"
        )
    first, last = zoom_range
    return (1, 1) if first == last == 1 else np.random.uniform(first, last, 2)


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> Any:
    """Return an image to whose values `intensity` is added, within its smallest and largest value.

    The channels may be on any axis: all get the same value.
    """
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> Any:
    """Return `apply_channel_shift` with a random value in [-intensity_range, intensity_range]."""
    intensity = np.random.uniform(-intensity_range, intensity_range)
    return apply_channel_shift(x, intensity, channel_axis)


def apply_brightness_shift(x: Any, brightness: float) -> np.ndarray:
    """Return an image as bright as `brightness` says: 0 is black, 1 the brightness of `x`.

    As in Keras, the values are first changed to [0, 255], so that 1 changes them too.
    """
    from PIL import ImageEnhance

    image = image_files.array_to_img(x)
    return image_files.img_to_array(ImageEnhance.Brightness(image).enhance(brightness))


def random_brightness(x: Any, brightness_range: Any) -> np.ndarray:
    """Return an image with a random brightness in the range.

    Raises:
        ValueError: the range is not a pair.
    """
    if len(brightness_range) != 2:
        raise ValueError(
            f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
        )
    return apply_brightness_shift(x, np.random.uniform(*brightness_range))
