"""The geometry of a two-dimensional convolution: where its windows lie, and memory for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host

FEW_CHANNELS = 8
"""Images with fewer channels are copied in runs along their width, not along their channels."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The windows of a convolution over images of `depth` channels, with `units` filters."""

    rows: windows.Windows
    columns: windows.Windows
    depth: int
    units: int

    @property
    def pixels(self) -> int:
        """The number of output pixels of an image."""
        return self.rows.count * self.columns.count

    @property
    def weights(self) -> int:
        return self.rows.width * self.columns.width * self.depth

    @property
    def is_flat(self) -> bool:
        """Whether a window is one pixel of the image, so that no copies are needed."""
        return all(
            axis.width == axis.stride == 1 and not axis.before and axis.padded == axis.size
            for axis in (self.rows, self.columns)
        )

    def offsets(self) -> Iterator[tuple[int, int, slice, slice]]:
        """Yield each place in a window, and the slices of a padded image for this place."""
        for i in range(self.rows.width):
            for j in range(self.columns.width):
                yield i, j, self.rows.elements(i), self.columns.elements(j)

    def blocks(self, images: int, itemsize: int, most_bytes: int) -> Iterator[slice]:
        """Divide the images into blocks.

        The windows of a block have at most `most_bytes` bytes, unless one image has more.
        """
        each = max(1, most_bytes // max(1, self.pixels * self.weights * itemsize))
        for start in range(0, images, each):
            yield slice(start, min(start + each, images))

    def padded(self, like: Array, images: int) -> Array:
        """Return an array of zeros for images with their padding."""
        shape = (images, self.rows.padded, self.columns.padded, self.depth)
        return np.zeros_like(like, shape=shape)

    def interior(self, padded: Array) -> Any:
        """Return the part of padded images that is not padding, as a view."""
        top, left = self.rows.before, self.columns.before
        return padded[:, top : top + self.rows.size, left : left + self.columns.size]

    def runs(self, padded: Array) -> Any:
        """Return each row of each window as one run of numbers, in a view of padded images.

        Its axes are image, row of the image, column of the window, and place in the run. The
        result is None if the numbers are not side by side, if there are no windows, or if the
        images are on a device.
        """
        if self.columns.dilation != 1 or not self.columns.count or not is_on_host(padded):
            return None
        lines = padded.reshape(*padded.shape[:2], -1)
        width, step = self.columns.width * self.depth, self.columns.stride * self.depth
        starts = np.lib.stride_tricks.sliding_window_view(lines, width, 2)
        return starts[:, :, ::step][:, :, : self.columns.count]

    def turned(self) -> "Geometry | None":
        """Return the geometry of the convolution that takes gradients back to the images.

        Windows that are one pixel apart have one: each pixel of an image gets the sum over a
        window of gradients, with the filters mirrored. The result is None if there is none, or if
        its windows would be much larger than these.
        """
        axes = [axis.turned() for axis in (self.rows, self.columns)]
        if axes[0] is None or axes[1] is None or self.units > 2 * self.depth:
            return None
        return Geometry(axes[0], axes[1], self.units, self.depth)

    def matrix(self, like: Array, images: int) -> tuple[Array, Array]:
        """Return memory for a matrix of windows, and a view of it with the axes of the windows.

        The axes of the view are image, row, column, row in the window, column in the window, and
        channel.
        """
        inner = (self.rows.width, self.columns.width, self.depth)
        outer = (images, self.rows.count, self.columns.count)
        count = images * self.pixels
        if self.depth < FEW_CHANNELS:
            memory = np.empty_like(like, shape=(*inner, *outer))
            return memory.reshape(self.weights, count).T, memory.transpose(3, 4, 5, 0, 1, 2)
        memory = np.empty_like(like, shape=(*outer, *inner))
        return memory.reshape(count, self.weights), memory
