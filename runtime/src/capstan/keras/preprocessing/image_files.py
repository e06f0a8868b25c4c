"""Images as arrays, as images of Pillow, and in files (keras_preprocessing/image/utils.py)."""

import io
import os
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.api.layers import settings

COLOR_MODES = {"grayscale": 1, "rgb": 3, "rgba": 4}
"""The number of channels of each color mode."""
_MODES = {"grayscale": ("L", "I;16", "I"), "rgb": ("RGB",), "rgba": ("RGBA",)}
_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def array_to_img(
    x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Any:
    """Return the image of Pillow with the values of an array of rank 3.

    `scale` changes the values linearly to [0, 255].

    Raises:
        ValueError: the array has another rank, or not 1, 3 or 4 channels.
    """
    values = np.asarray(x, dtype=dtype or settings.SETTINGS.floatx)
    if values.ndim != 3:
        raise ValueError(
            "Expected image array to have rank 3 (single image). Got array with shape: "
            f"{values.shape}"
        )
    if settings.data_format(data_format) == "channels_first":
        values = values.transpose(1, 2, 0)
    if scale:
        values = values - np.min(values)
        largest = np.max(values)
        values = values * 0 if largest == 0 else values / largest * 255
    channels = values.shape[2]
    if channels not in COLOR_MODES.values():
        raise ValueError(f"Unsupported channel number: {channels}")
    # Pillow takes a while to load, and most programs of Keras read no images.
    from PIL import Image

    if channels == 1:
        plane = values[:, :, 0]
        return Image.fromarray(plane.astype("int32" if np.max(plane) > 255 else "uint8"))
    return Image.fromarray(np.ascontiguousarray(values.astype("uint8")))


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """Return the array of rank 3 with the values of an image of Pillow.

    Raises:
        ValueError: the image has no rank of 2 or 3.
    """
    is_first = settings.data_format(data_format) == "channels_first"
    values = np.asarray(img, dtype=dtype or settings.SETTINGS.floatx)
    if values.ndim == 2:
        return np.expand_dims(values, 0 if is_first else 2)
    if values.ndim != 3:
        raise ValueError(f"Unsupported image shape: {values.shape}")
    return values.transpose(2, 0, 1) if is_first else values


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array as an image to a path or a file object.

    The format follows the end of the path, unless `file_format` is given. The other arguments are
    those of `PIL.Image.Image.save`.
    """
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        logging.warning("The JPG format does not support RGBA images, converting to RGB.")
        image = image.convert("RGB")
    image.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)


def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:
    """Return the image of Pillow in a file, with the size `(height, width)` if one is given.

    Raises:
        ValueError: the color mode or the interpolation is unknown.
    """
    from PIL import Image

    if grayscale:
        logging.warning('grayscale is deprecated. Please use color_mode = "grayscale"')
        color_mode = "grayscale"
    if color_mode not in _MODES:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    with open(path, "rb") as file:
        image: Any = Image.open(io.BytesIO(file.read()))
    if image.mode not in _MODES[color_mode]:
        image = image.convert(_MODES[color_mode][0])
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are "
            f"{', '.join(_INTERPOLATIONS)}"
        )
    resampling = Image.Resampling[interpolation.upper()]
    return image.resize((target_size[1], target_size[0]), resampling)


def save_batch(
    images: np.ndarray, numbers: Any, folder: str, prefix: str, file_format: str, data_format: str
) -> None:
    """Write the images of a batch as files, named by their numbers and a random number."""
    for image, number in zip(images, numbers, strict=True):
        name = f"{prefix}_{number}_{np.random.randint(int(1e7))}.{file_format}"
        array_to_img(image, data_format, scale=True).save(os.path.join(folder, name))
