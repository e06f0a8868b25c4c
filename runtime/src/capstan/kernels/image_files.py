"""Kernels that decode and encode images, by Pillow (core/kernels/decode_image_op.cc)."""

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes
from capstan.core.arrays import Array
from capstan.kernels import wide_png
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number, string
from capstan.resources import elements

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_CHANNELS = {"1": 1, "L": 1, "LA": 2, "RGBA": 4, "PA": 4}
_FORMATS = ("JPEG", "PNG", "GIF", "BMP")
_COLOUR_AT = 25
"""Where a PNG has its kind of colours."""


@contextlib.contextmanager
def _decoding(form: str) -> Iterator[None]:
    """Raise errors of Pillow as InvalidArgumentError. Damaged files cause many kinds of errors."""
    try:
        yield
    except (errors.OpError, MemoryError):
        raise
    except Exception as fault:
        raise invalid(f"Invalid {form} data: {fault}") from fault


def _open(content: bytes) -> Any:
    """Return the image in a file.

    Raises:
        InvalidArgumentError: the file has another format, is damaged, or has more pixels than
            Pillow reads (about 179 million).
    """
    from PIL import Image, UnidentifiedImageError

    with _decoding("image"):
        try:
            return Image.open(io.BytesIO(content), formats=_FORMATS)
        except UnidentifiedImageError as fault:
            kind = "unknown format" if content else "empty file"
            raise invalid(f"Expected image (JPEG, PNG, or GIF), got {kind}") from fault


def _pixels(image: Any, channels: int) -> Array:
    """Return one frame as an array uint8 [height, width, channels]."""
    with _decoding(image.format):
        image.load()
    if image.mode == "P" and channels == 0:
        channels = 4 if "transparency" in image.info else 3
    count = channels or _CHANNELS.get(image.mode, 3)
    array = np.array(image if image.mode == _MODES[count] else image.convert(_MODES[count]))
    return array.reshape(*array.shape[:2], count)


def _converted(pixels: Array, dtype: dtypes.DType) -> Array:
    """Return pixels of 8 or 16 bits as `dtype`. A float has values from 0 to 1."""
    if dtype is dtypes.float32:
        return pixels.astype(np.float32) * np.float32(1 / np.iinfo(pixels.dtype).max)
    if dtype is dtypes.uint16 and pixels.dtype == np.uint8:
        return pixels.astype(np.uint16) * np.uint16(257)
    if dtype is dtypes.uint8 and pixels.dtype == np.uint16:
        return (pixels >> 8).astype(np.uint8)
    return pixels


def _wide_pixels(content: bytes, channels: int) -> Array:
    if channels in (1, 2) and content[_COLOUR_AT] in (2, 6):
        raise errors.UnimplementedError(
            None, None, "Colour PNG with 16 bits per channel cannot be decoded to grey"
        )
    with _decoding("PNG"):
        return wide_png.decode(content, _open, channels)


def _channels(node: NodeContext, allowed: tuple[int, ...]) -> int:
    channels = int(node.attrs["channels"])
    if channels not in allowed:
        raise invalid(f"channels must be one of {allowed}, got {channels}")
    return channels


def _decode(allowed: tuple[int, ...]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        channels = _channels(node, allowed)
        dtype = node.output_dtypes[0]
        ratio = int(node.attrs.get("ratio", 1))
        if ratio not in (1, 2, 4, 8):
            raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")

        def decode(contents: Array) -> Array:
            content = string(contents, "contents")
            image = _open(content)
            if wide_png.is_wide(content):
                return _converted(_wide_pixels(content, channels), dtype)
            if image.format == "JPEG" and channels == 4:
                raise invalid("JPEG does not support 4 channels")
            with _decoding(image.format):
                frames = getattr(image, "n_frames", 1)
            if frames > 1:
                raise invalid(
                    f"Got {frames} frames, but animated gifs can only be decoded by "
                    "tf.image.decode_gif or tf.image.decode_image"
                )
            if image.format == "JPEG" and (ratio > 1 or channels == 1):
                size = tuple(-(-length // ratio) for length in image.size)
                image.draft("L" if channels == 1 else None, size)
            return _converted(_pixels(image, channels), dtype)

        return decode

    return make


def _decode_window(node: NodeContext) -> Function:
    decode = _decode((0, 1, 3))(node)

    def crop(contents: Array, window: Array) -> Array:
        _check_jpeg(string(contents, "contents"), node.op)
        pixels = decode(contents)
        top, left, height, width = _window(window)
        rows, columns = pixels.shape[:2]
        if (
            min(top, left) < 0 or min(height, width) <= 0
            or top + height > rows or left + width > columns
        ):  # fmt: skip
            raise invalid(
                f"Invalid JPEG data or crop window: crop_window {window.tolist()} is not inside of "
                f"an image of {rows} rows and {columns} columns"
            )
        return np.ascontiguousarray(pixels[top : top + height, left : left + width])

    return crop


def _window(window: Array) -> list[int]:
    if window.shape != (4,):
        raise invalid(f"crop_window must have four elements, got shape {list(window.shape)}")
    return [int(each) for each in window.tolist()]


def _check_jpeg(content: bytes, op: str) -> Any:
    image = _open(content)
    if image.format != "JPEG":
        raise invalid(f"Trying to decode {image.format} format using {op}, which reads only JPEG")
    return image


def _jpeg_shape(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def shape(contents: Array) -> Array:
        image = _check_jpeg(string(contents, "contents"), node.op)
        return np.array([image.height, image.width, len(image.getbands())], dtype)

    return shape


def _decode_frames(contents: Array) -> Array:
    from PIL import ImageSequence

    image = _open(string(contents, "contents"))
    with _decoding(image.format):
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    return np.stack([_pixels(frame, 3) for frame in frames])


def _decode_gif(node: NodeContext) -> Function:
    return _decode_frames


def _decode_any(node: NodeContext) -> Function:
    still = _decode((0, 1, 3, 4))(node)
    dtype, channels = node.output_dtypes[0], int(node.attrs["channels"])
    keeps_frames = bool(node.attrs["expand_animations"])

    def decode(contents: Array) -> Array:
        image = _open(string(contents, "contents"))
        if image.format != "GIF":
            return np.asarray(still(contents))
        if channels not in (0, 3):
            raise invalid("channels must be 0 or 3 for GIF, got " + str(channels))
        frames = _converted(_decode_frames(contents), dtype)
        return frames if keeps_frames else frames[0]

    return decode


def _encode_png(node: NodeContext) -> Function:
    chosen = int(node.attrs["compression"])
    level = 6 if chosen < 0 else chosen

    def encode(image: Array) -> Array:
        _check_image(image, (1, 2, 3, 4))
        if image.dtype == np.uint16:
            return elements.scalar(wide_png.encode(image, level))
        return _saved(_image(image), "PNG", compress_level=level)

    return encode


def _check_image(pixels: Array, allowed: tuple[int, ...]) -> None:
    if pixels.ndim != 3 or not pixels.size:
        raise invalid(f"image must be 3-dimensional and not empty, got {list(pixels.shape)}")
    if pixels.shape[2] not in allowed:
        raise invalid(f"image must have one of {allowed} channels, got {pixels.shape[2]}")


def _image(pixels: Array) -> Any:
    """Return an array of pixels of 8 bits as an image of Pillow."""
    from PIL import Image

    grey = pixels.shape[2] == 1
    return Image.fromarray(pixels[..., 0] if grey else np.ascontiguousarray(pixels))


def _encode_jpeg(node: NodeContext) -> Function:
    attrs = node.attrs
    form = attr_value.text(attrs["format"])
    allowed = {"grayscale": (1,), "rgb": (3,)}.get(form, (1, 3))
    if not 0 <= attrs["quality"] <= 100:
        raise invalid(f"quality must be in [0,100], got {attrs['quality']}")
    per_inch = 1.0 if attr_value.text(attrs["density_unit"]) == "in" else 2.54
    density = (round(attrs["x_density"] * per_inch), round(attrs["y_density"] * per_inch))
    options = {
        "quality": max(1, int(attrs["quality"])),
        "progressive": bool(attrs["progressive"]),
        "optimize": bool(attrs["optimize_size"]),
        "subsampling": 2 if attrs["chroma_downsampling"] else 0,
        "dpi": density,
        "xmp": attr_value.text(attrs["xmp_metadata"]).encode(errors="surrogateescape"),
    }

    def encode(image: Array) -> Array:
        _check_image(image, allowed)
        return _saved(_image(image), "JPEG", **options)

    return encode


def _encode_jpeg_of_quality(node: NodeContext) -> Function:
    def encode(image: Array, quality: Array) -> Array:
        chosen = number(quality, "quality")
        if not 0 <= chosen <= 100:
            raise invalid(f"quality must be in [0,100], got {chosen}")
        _check_image(image, (1, 3))
        return _saved(_image(image), "JPEG", quality=max(1, chosen))

    return encode


def _saved(image: Any, form: str, **options: Any) -> Array:
    file = io.BytesIO()
    image.save(file, form, **options)
    return elements.scalar(file.getvalue())


for _op, _make in (
    ("DecodePng", _decode((0, 1, 3, 4))),
    ("DecodeJpeg", _decode((0, 1, 3, 4))),
    ("DecodeAndCropJpeg", _decode_window),
    ("ExtractJpegShape", _jpeg_shape),
    ("DecodeBmp", _decode((0, 3, 4))),
    ("DecodeGif", _decode_gif),
    ("DecodeImage", _decode_any),
    ("EncodePng", _encode_png),
    ("EncodeJpeg", _encode_jpeg),
    ("EncodeJpegVariableQuality", _encode_jpeg_of_quality),
):
    register(Kernel(_op, _make))
