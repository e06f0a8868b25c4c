"""PNG files with 16 bits per channel, which Pillow reads and writes only without colours.

Pillow unpacks the bytes of a file by a raw mode. Two raw modes keep the high bytes and the low
bytes of colours, and a pixel of grey and alpha has as many bytes as one of RGBA with 8 bits.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capstan.core.arrays import Array

_DEPTH_AT, _COLOUR_AT = 24, 25
"""Where a PNG has its bits per channel and its kind of colours."""
_GREY, _GREY_ALPHA = 0, 4
_MODES = {2: "RGB", 6: "RGBA"}
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
"""The kind of colours, by the number of channels."""

_PIECE = 1 << 18
"""The bytes of the rows that are filtered together. The filters need some 30 times as many."""


def is_wide(content: bytes) -> bool:
    """Return whether a file is a PNG with 16 bits per channel."""
    return content[1:4] == b"PNG" and len(content) > _COLOUR_AT and content[_DEPTH_AT] == 16


def decode(content: bytes, opened: Callable[[bytes], Any], channels: int) -> Array:
    """Return the pixels of a file as an array uint16 [height, width, channels].

    `opened` opens the file with Pillow. With 0 channels, the image has those of the file. Errors of
    Pillow pass through. `channels` must be 0, 3 or 4 if the file has colours.
    """

    def read(raw_mode: str | None) -> Array:
        image = opened(content)
        if raw_mode is not None:
            image.tile = [tile._replace(args=raw_mode) for tile in image.tile]
        image.load()
        return np.asarray(image)

    colour = content[_COLOUR_AT]
    if colour == _GREY:
        found: Array = read(None).astype(np.uint16)[..., np.newaxis]
    elif colour == _GREY_ALPHA:
        found = read("RGBA").view(">u2").astype(np.uint16)
    else:
        high, low = (read(f"{_MODES[colour]};16{order}") for order in "BL")
        found = high.astype(np.uint16) << 8 | low
    return _with_channels(found, channels or found.shape[-1])


def _with_channels(pixels: Array, channels: int) -> Array:
    """Repeat grey, and add or remove alpha, which is opaque."""
    has_alpha = pixels.shape[-1] in (2, 4)
    colours, alpha = pixels[..., : pixels.shape[-1] - has_alpha], pixels[..., -1:]
    if channels > 2 and colours.shape[-1] == 1:
        colours = np.repeat(colours, 3, -1)
    if channels in (1, 3):
        return colours
    return np.concatenate((colours, alpha if has_alpha else np.full_like(alpha, 65535)), -1)


def encode(pixels: Array, level: int) -> bytes:
    """Return the PNG of an array uint16 [height, width, channels] of one to four channels."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2").view(np.uint8).reshape(height, -1)
    header = struct.pack(">2I5B", width, height, 16, _COLOURS[channels], 0, 0, 0)
    data = b"".join(_compressed(rows, 2 * channels, level))
    parts = (b"IHDR", header), (b"IDAT", data), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _compressed(rows: Array, step: int, level: int) -> Iterator[bytes]:
    """Yield the parts of the compressed rows, which are filtered a few at a time."""
    packed = zlib.compressobj(level)
    each = max(1, _PIECE // max(1, rows.shape[1]))
    before = np.zeros_like(rows, shape=rows.shape[1:])
    for start in range(0, len(rows), each):
        some = rows[start : start + each]
        yield packed.compress(_filtered(some, before, step).tobytes())
        before = some[-1]
    yield packed.flush()


def _filtered(rows: Array, before: Array, step: int) -> Array:
    """Return the rows of bytes, each behind the number of its filter. `before` is the row above.

    A filter subtracts neighbours, `step` bytes to the left or above, so that smooth images become
    short. As libpng does, each row takes the filter whose differences have the least sum.
    """
    left = np.pad(rows, ((0, 0), (step, 0)))[:, :-step]
    above = np.concatenate((before[np.newaxis], rows[:-1]))
    corner = np.pad(above, ((0, 0), (step, 0)))[:, :-step]
    mean = ((left.astype(np.uint16) + above) >> 1).astype(np.uint8)
    nearest = _nearest(*(each.astype(np.int16) for each in (left, above, corner)))
    differences = np.stack([rows, *(rows - each for each in (left, above, mean, nearest))])
    sums = np.abs(differences.view(np.int8).astype(np.int16)).sum(2)
    chosen = sums.argmin(0)
    found = differences[chosen, np.arange(len(rows))]
    return np.concatenate((chosen[:, np.newaxis].astype(np.uint8), found), 1)


def _nearest(left: Array, above: Array, corner: Array) -> Array:
    """Return of three neighbours that which is nearest to `left + above - corner`."""
    by_left, by_above = np.abs(above - corner), np.abs(left - corner)
    by_corner = np.abs(left + above - 2 * corner)
    is_left = (by_left <= by_above) & (by_left <= by_corner)
    nearest = np.where(is_left, left, np.where(by_above <= by_corner, above, corner))
    return nearest.astype(np.uint8)


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
