"""Kernels that make summaries of images and sounds.

Source: core/kernels/summary_image_op.cc, summary_audio_op.cc. Images are PNG files, and sounds are
WAV files of 16 bits a sample.
"""

import io
import struct
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import summary
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_NEAR_ZERO = np.float32(1e-6)
_MAX_PIXELS = 1 << 29
_INT16 = np.iinfo(np.int16)


def _image(node: NodeContext) -> Function:
    limit, bad_color = node.attrs["max_images"], node.attrs["bad_color"]
    if bad_color.dtype != np.uint8:
        raise invalid(f"bad_color must be uint8, got {bad_color.dtype}")
    return lambda tag, tensor: of_images(tag, tensor, limit, bad_color)


def of_images(tag: Array, tensor: Array, limit: int, bad_color: Array) -> Any:
    """Return the summary of the first `limit` images. `bad_color` stands for bad pixels.

    Raises:
        InvalidArgumentError: a shape does not fit.
    """
    if bad_color.ndim != 1:
        raise invalid(f"bad_color must be a vector, got shape {show(bad_color.shape)}")
    base = _base(tag, "Tags must be a scalar")
    _check_images(tensor.shape)
    depth = tensor.shape[3]
    if tensor.dtype != np.uint8 and bad_color.size < depth:
        raise invalid(
            f"expected depth <= bad_color.size, got depth = {depth}, "
            f"bad_color.size = {bad_color.size}"
        )
    found = summary.empty()
    for index, pixels in enumerate(tensor[:limit]):
        if pixels.dtype != np.uint8:
            pixels = normalized(pixels, bad_color[:depth])
        value = found.value.add(tag=f"{base}/image" + (f"/{index}" if limit > 1 else ""))
        value.image.height, value.image.width, value.image.colorspace = pixels.shape
        value.image.encoded_image_string = _png(pixels)
    return summary.serialized(found)


def _check_images(shape: tuple[int, ...]) -> None:
    if len(shape) != 4 or shape[3] not in (1, 3, 4):
        raise invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {show(shape)}")
    if shape[1] * shape[2] >= _MAX_PIXELS:
        raise invalid(f"Tensor too large for summary {show(shape)}")
    if not shape[1] * shape[2]:
        raise invalid(
            f"input tensor must have non-zero dims. Found: [{', '.join(map(str, shape))}]."
        )


def normalized(pixels: Array, bad_color: Array) -> Array:
    """Return an image of floats as uint8.

    `pixels` has the shape [height, width, depth]. If no value is negative, the largest value
    becomes 255. Otherwise 0 becomes 128, and the value farthest from 0 becomes 1 or 255. A pixel
    that has a value that is not finite gets `bad_color`.
    """
    finite = np.isfinite(pixels).all(axis=2)
    values = pixels[finite].astype(np.float32)
    low, high = (values.min(), values.max()) if values.size else (np.float32(np.inf), -np.inf)
    is_signed = low < 0
    farthest = max(abs(low), abs(high)) if is_signed else high
    span = np.float32(127 if is_signed else 255)
    kind = pixels.dtype.type
    scale = kind(0 if farthest < _NEAR_ZERO else span / farthest)
    image = np.empty(pixels.shape, np.uint8)
    image[finite] = (pixels[finite] * scale + kind(128 if is_signed else 0)).astype(np.uint8)
    image[~finite] = bad_color
    return image


def _png(pixels: Array) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def audio(node: NodeContext) -> Function:
    """Return the function that makes the summary of sounds: of a tag, a tensor and a rate."""
    limit = node.attrs["max_outputs"]

    def run(tag: Array, tensor: Array, sample_rate: Array) -> Array:
        base = _base(tag, "Tag must be a scalar")
        if tensor.ndim not in (2, 3):
            raise invalid(f"Tensor must be 3-D or 2-D, got: {show(tensor.shape)}")
        if np.size(sample_rate) != 1:
            raise invalid("sample_rate must be rank-0 or contain a single value")
        rate = float(np.asarray(sample_rate).item())
        if not rate > 0:
            raise invalid("sample_rate must be > 0")
        found = summary.empty()
        for index, sound in enumerate(tensor[:limit]):
            samples = sound[:, None] if sound.ndim == 1 else sound
            value = found.value.add(tag=f"{base}/audio" + (f"/{index}" if limit > 1 else ""))
            value.audio.sample_rate = rate
            value.audio.length_frames, value.audio.num_channels = samples.shape
            value.audio.encoded_audio_string = wav(samples, max(1, round(rate)))
            value.audio.content_type = "audio/wav"
        return summary.serialized(found)

    return run


def _audio_of_fixed_rate(node: NodeContext) -> Function:
    run, rate = audio(node), np.float32(node.attrs["sample_rate"])
    return lambda tag, tensor: run(tag, tensor, rate)


def wav(samples: Array, rate: int) -> bytes:
    """Return a WAV file. `samples` is float32 in [-1, 1), of the shape [frames, channels].

    Raises:
        InvalidArgumentError: `rate` or the number of channels does not fit into the file's header.
    """
    channels = samples.shape[1]
    if rate >= 1 << 32:
        raise invalid(f"sample_rate must be in (0, 2^32), got: {rate}")
    if not 0 < channels < 1 << 16:
        raise invalid(f"num_channels must be in (0, 2^16), got: {channels}")
    scaled = samples * np.float32(1 << 15)
    # TensorFlow's kernel rounds halves away from 0, as C's roundf does.
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    data = np.nan_to_num(np.clip(rounded, _INT16.min, _INT16.max)).astype("<i2").tobytes()
    frame_bytes = 2 * channels
    header = struct.pack(
        "<HHIIHH", 1, channels, rate, rate * frame_bytes & 0xFFFFFFFF, frame_bytes, 16
    )
    return b"".join(
        (
            struct.pack("<4sI8sI", b"RIFF", 36 + len(data), b"WAVEfmt ", len(header)),
            header,
            struct.pack("<4sI", b"data", len(data)),
            data,
        )
    )


def _base(tag: Array, refusal: str) -> str:
    array = np.asarray(tag, object)
    if array.size != 1:
        raise invalid(refusal)
    text: bytes = array.item()
    return text.decode(errors="replace")


register(Kernel("ImageSummary", _image))
register(Kernel("AudioSummaryV2", audio))
register(Kernel("AudioSummary", _audio_of_fixed_rate))
