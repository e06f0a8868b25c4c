"""The gradient of max pools over images on CPUs, in one compiled pass over the windows.

Formulas would read all images again for each place in a window.
"""

from typing import Any, Final

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels.memory import is_on_host

_LEAST_NUMBERS: Final = 1 << 15
"""For fewer numbers, the compilation takes as long as hundreds of formulas."""

_LEAST_CHANNELS: Final = 8
"""With fewer channels, vectors are almost empty."""

_PIECE: Final = 1 << 18
"""About so many numbers of the images are a piece."""


def spread(
    values: Any, largest: Any, slopes: Any, result: Any, left: Any, sizes: Any, start: int
) -> int:
    """Add the slope of each window of some images to the first of its elements that is the largest.

    A first element that is no number gets the slope, and so does a first element if no other can.
    `left` has a number for each channel. `sizes` has the sizes of an image, and then the count,
    width, stride and padding of the windows over rows and over columns, the number of all images,
    and of those from `start` on that the call takes.
    """
    for image in range(start, min(start + sizes[12], sizes[11])):
        spread_image(values, largest, slopes, result, left, sizes, image)
    return 0


def spread_image(
    values: Any, largest: Any, slopes: Any, result: Any, left: Any, sizes: Any, image: int
) -> int:
    """Add the slopes of one image."""
    height = sizes[0]
    width = sizes[1]
    depth = sizes[2]
    for row in range(sizes[3]):
        top = row * sizes[5] - sizes[6]
        first_row, last_row = inside(top, sizes[4], height)
        for column in range(sizes[7]):
            begin = column * sizes[9] - sizes[10]
            first_column, last_column = inside(begin, sizes[8], width)
            if first_row >= last_row or first_column >= last_column:
                continue
            window = ((image * sizes[3] + row) * sizes[7] + column) * depth
            for channel in range(depth):
                left[channel] = slopes[window + channel]
            start = (image * height + top) * width + begin
            first = (start + first_row * width + first_column) * depth
            take_unordered(values, first, left, result)
            for i in range(first_row, last_row):
                for j in range(first_column, last_column):
                    place = (start + i * width + j) * depth
                    take_equal(values, place, largest, window, left, result)
            for channel in range(depth):
                result[first + channel] += left[channel]
    return 0


def inside(start: int, width: int, size: int) -> tuple[int, int]:
    """Return the offsets of the first element of a window that is no padding, and behind the last.

    The window begins at `start`, on an axis of `size` elements.
    """
    return (-start if start < 0 else 0), (width if start + width <= size else size - start)


def take_unordered(values: Any, start: int, left: Any, result: Any) -> int:
    """Move `left` to the elements that are no numbers."""
    for channel in range(len(left)):
        value = values[start + channel]
        slope = left[channel]
        result[start + channel] += 0 if value == value else slope
        left[channel] = slope if value == value else 0
    return 0


def take_equal(values: Any, start: int, largest: Any, window: int, left: Any, result: Any) -> int:
    """Move `left` to the elements that are the largest of their windows."""
    for channel in range(len(left)):
        value = values[start + channel]
        most = largest[window + channel]
        slope = left[channel]
        result[start + channel] += slope if value == most else 0
        left[channel] = 0 if value == most else slope
    return 0


class Spread:
    """The pass of one node. Thread-safe."""

    def __init__(self) -> None:
        self._loop = cpu_loops.Loop(spread)

    def serves(self, images: Array, axes: tuple[windows.Windows, ...]) -> bool:
        """Return whether the pass is faster than formulas. The channels must be behind."""
        return (
            is_on_host(images)
            and images.ndim == 4
            and images.dtype.char in "fd"
            and images.size >= _LEAST_NUMBERS
            and images.shape[3] >= _LEAST_CHANNELS
            and axes[3].width == axes[3].stride == 1
            and self._loop.at_once() is not None
        )

    def __call__(
        self, images: Array, largest: Array, slopes: Array, axes: tuple[windows.Windows, ...]
    ) -> Array:
        """Return the gradient by the images."""
        result = np.zeros(images.shape, images.dtype)
        flat = [np.ascontiguousarray(each).reshape(-1) for each in (images, largest, slopes)]
        sizes = [*images.shape[1:]]
        for axis in axes[1:3]:
            sizes += [axis.count, axis.width, axis.stride, axis.before]
        each = max(1, _PIECE // images[0].size)
        numbers = np.array([*sizes, len(images), each], np.int64)
        lefts = np.empty((len(images), images.shape[3]), images.dtype)
        self._loop.share(
            (*flat, result.reshape(-1), lefts[start], numbers, start)
            for start in range(0, len(images), each)
        )
        return result
