"""Functions that decode and encode images (python/ops/image_ops.py)."""

from typing import Any

import numpy as np

from capstan.api import image_colours, random_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Any:
    """Return the image in a PNG file, as uint8 or uint16.

    `channels` is 1 (grey), 3 (RGB), 4 (RGBA), or 0 for the channels of the file. The step
    fails with InvalidArgumentError if the content is not an image.
    """
    return raw.DecodePng(contents, channels=channels, dtype=dtypes.as_dtype(dtype), name=name)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """Return the image in a JPEG file, as uint8.

    `channels` is 1 (grey), 3 (RGB), or 0 for the channels of the file. `ratio` is 1, 2, 4 or 8: a
    faster way to a smaller image. The other arguments have no effect.
    """
    return raw.DecodeJpeg(
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """Return a part of the image in a JPEG file, as uint8.

    `crop_window` holds the top row, the left column, the height and the width of the part, after
    the image has been made smaller by `ratio`. The other arguments are those of `decode_jpeg`. The
    step fails with InvalidArgumentError if the window is not inside the image.
    """
    return raw.DecodeAndCropJpeg(
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Any:
    """Return the height, width and channels of the image in a JPEG file, without its pixels."""
    kind = dtypes.as_dtype(output_type)
    return raw.ExtractJpegShape(contents, output_type=kind, name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Return whether the content of a file begins as that of a JPEG file, as a scalar."""
    with scoped(name, "is_jpeg", (contents,)):
        return raw.Equal(raw.Substr(contents, 0, 3), b"\xff\xd8\xff")


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """Return the image in a BMP file, as uint8. `channels` is 0, 3 or 4."""
    return raw.DecodeBmp(contents, channels=channels, name=name)


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """Return all frames of a GIF file as uint8 of shape [frames, height, width, 3]."""
    return raw.DecodeGif(contents, name=name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """Return the image in a BMP, GIF, JPEG or PNG file, as uint8, uint16 or float32.

    The static shape is unknown, because a GIF file gives all of its frames. Without
    `expand_animations`, it gives only the first one, and the result has three axes.
    """
    return raw.DecodeImage(
        contents,
        channels=channels or 0,
        dtype=dtypes.as_dtype(dtype),
        expand_animations=expand_animations,
        name=name,
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """Return an image with 1 to 4 channels as the content of a PNG file.

    `compression` is between 0 and 9, or -1 for the default.
    """
    if isinstance(image, np.ndarray):
        image = convert.convert_to_tensor(image)
    return raw.EncodePng(image, compression=compression, name=name)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Any:
    """Return an image with 1 or 3 channels as the content of a JPEG file.

    `format` is `grayscale`, `rgb`, or an empty string for either. `quality` is between 0 and 100.
    """
    return raw.EncodeJpeg(
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Any:
    """Encode an image with 1 or 3 channels as JPEG, and decode it again.

    `jpeg_quality` is an integer scalar between 0 and 100, or the step raises InvalidArgumentError.
    The result has the dtype and the shape of the image.
    """
    with scoped(name, "adjust_jpeg_quality", [image]):
        value = convert.convert_to_tensor(image, name="image")
        quality = convert.convert_to_tensor(jpeg_quality, dtypes.int32, "jpeg_quality")
        pixels = image_colours.convert_image_dtype(value, dtypes.uint8)
        decoded = raw.DecodeJpeg(raw.EncodeJpegVariableQuality(pixels, quality))
        return image_colours.convert_image_dtype(decoded, value.dtype)


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """Do what `adjust_jpeg_quality` does, with a random integer in [min, max).

    Raises:
        ValueError: a quality is not between 0 and 100, or the minimum is not below the maximum.
    """
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_ops.random_uniform(
        [], min_jpeg_quality, max_jpeg_quality, dtype=dtypes.int32, seed=seed
    )
    return adjust_jpeg_quality(image, quality)
