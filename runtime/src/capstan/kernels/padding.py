"""The padding of images around their pixels, for windows that reach over their edges."""

import functools
from typing import Any, Final

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.hardware import cpu_loops

_PIECE: Final = 1 << 16
"""A piece has about so many numbers. Fewer take less time than a call of the compiled loop."""


def padded(images: Array, rows: windows.Windows, columns: windows.Windows) -> Array:
    """Return images of the host with the zeros around them that windows reach, in C order.

    Images that need no padding are not copied if they are in C order.
    """
    images = np.ascontiguousarray(images)
    count, height, width, depth = images.shape
    size = (count, rows.padded, columns.padded, depth)
    if size == images.shape:
        return images
    if images.size < _PIECE or _loop().at_once() is None:
        result = np.zeros(size, images.dtype)
        top, left = rows.before, columns.before
        result[:, top : top + height, left : left + width] = images
        return result
    result = np.empty(size, images.dtype)
    lead = (rows.before * columns.padded + columns.before) * depth
    gap = (columns.padded - width) * depth
    each = max(1, _PIECE // images[0].size)
    _loop().share(
        (
            images[start : start + each].reshape(-1),
            result[start : start + each].reshape(-1),
            *(height, width * depth, lead, gap, result[0].size),
        )
        for start in range(0, count, each)
    )
    return result


@functools.cache
def _loop() -> cpu_loops.Loop:
    return cpu_loops.Loop(pad)


def pad(images: Any, result: Any, height: int, line: int, lead: int, gap: int, size: int) -> int:
    """Copy images of `height` lines, and write zeros around the lines.

    There are `lead` zeros before the first line of an image, and `gap` zeros between two lines. The
    image has `size` numbers in the result, and ends with more zeros.
    """
    source = 0
    for start in range(0, len(result), size):
        target = start
        before = lead
        for _ in range(height):
            for place in range(before):
                result[target + place] = 0
            target += before
            for place in range(line):
                result[target + place] = images[source + place]
            source += line
            target += line
            before = gap
        for place in range(target, start + size):
            result[place] = 0
    return 0
