"""Two-dimensional convolutions without copies of the windows (`hardware.cpu_products`).

A row of windows is a matrix in memory: its rows are one stride apart, and overlap. So a convolution
is a sum of products of such matrices with rows of the filters. Only the images are copied, for
their padding, a piece at a time. Images have the channels behind.
"""

import functools
from dataclasses import dataclass
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_products
from capstan.kernels import padding
from capstan.kernels.convolution_geometry import Geometry
from capstan.kernels.memory import is_on_host

_MOST_BYTES: Final = 1 << 20
"""Filters with more bytes leave the cache that a core has for itself. They are read again for each
row of windows, so the copies of windows are faster then."""

_PIECES: Final = 16
"""A convolution has at most about so many pieces."""

_PIECE: Final = 1 << 20
"""A piece has at least so many multiplications, which take some 20 microseconds."""

_SUMS: Final = 8
"""The gradient by the filters has at most about so many, which are sums of their own."""

_DEEP: Final = 128
"""To load and store a tile takes little time if it is the sum over so many pixels."""

_FEWEST: Final = 3
"""With fewer channels in the result, vectors are almost empty."""


def serves(shape: Geometry, images: Array, channels: int) -> bool:
    """Return whether the functions here are faster than copies of windows.

    `images` may be any array of the same device and dtype. `channels` are those of the result: the
    units, or the depth for the gradient by the images.
    """
    return (
        is_on_host(images)
        and images.dtype in (np.float32, np.float64)
        and min(channels, shape.weights, shape.pixels) >= _FEWEST
        and shape.weights * shape.units * images.itemsize <= _MOST_BYTES
        and cpu_products.is_fast()
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows of windows of some images."""

    first_image: int
    image_count: int
    first_row: int
    row_count: int

    @property
    def images(self) -> slice:
        return slice(self.first_image, self.first_image + self.image_count)

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.row_count)


def _pieces(shape: Geometry, images: int, most: int) -> list[_Piece]:
    """Divide the rows of windows of all images. The division does not depend on the machine."""
    rows = shape.rows.count
    work = images * shape.pixels * shape.weights * shape.units
    count = max(1, min(most, work // _PIECE))
    if images >= count:
        each = -(-images // count)
        return [
            _Piece(start, min(each, images - start), 0, rows) for start in range(0, images, each)
        ]
    each = -(-rows * images // count)
    return [
        _Piece(image, 1, start, min(each, rows - start))
        for image in range(images)
        for start in range(0, rows, each)
    ]


def forward(shape: Geometry, images: Array, kernel: Array) -> Array:
    """Return the convolution of `images` with the filters `kernel`."""
    kernel = np.ascontiguousarray(kernel)
    padded = padding.padded(images, shape.rows, shape.columns)
    outer = (len(images), shape.rows.count, shape.columns.count, shape.units)
    window = _Window(shape, padded)
    given = functools.cache(functools.partial(_forward, shape, window))
    result = (np.empty if window.parts == 1 else np.zeros)(outer, images.dtype)
    cpu_products.share(
        [
            (
                padded[piece.images, piece.first_row * shape.rows.stride :],
                kernel,
                result[piece.images, piece.rows],
                given(piece.image_count, piece.row_count),
            )
            for piece in _pieces(shape, len(images), _PIECES)
        ]
    )
    return result


def _forward(shape: Geometry, window: "_Window", images: int, rows: int) -> Array:
    """Return the numbers of the products that convolve a piece of so many images and rows."""
    line = shape.columns.count * shape.units
    return cpu_products.numbers(
        first=images,
        first_left=window.image,
        first_result=shape.rows.count * line,
        second=rows,
        second_left=shape.rows.stride * window.line,
        second_result=line,
        third=window.parts,
        third_left=window.part,
        third_right=window.run * shape.units,
        repeats=shape.rows.width,
        repeat_left=window.row,
        repeat_right=shape.columns.width * shape.depth * shape.units,
        rows=shape.columns.count,
        depth=window.run,
        columns=shape.units,
        left_row=shape.columns.stride * shape.depth,
        left_column=1,
        right_row=shape.units,
        result_row=shape.units,
        is_first=int(window.parts == 1),
    )


def by_filter(shape: Geometry, images: Array, slope: Array) -> Array:
    """Return the gradient by the filters, as a matrix with a row for each weight."""
    slope = np.ascontiguousarray(slope)
    padded = padding.padded(images, shape.rows, shape.columns)
    window = _Window(shape, padded)
    given = functools.cache(functools.partial(_by_filter, shape, window))
    pieces = _pieces(shape, len(images), _SUMS)
    parts = np.zeros((len(pieces), shape.weights, shape.units), images.dtype)
    cpu_products.share(
        [
            (
                padded[piece.images, piece.first_row * shape.rows.stride :],
                slope[piece.images, piece.rows],
                part,
                given(piece.image_count, piece.row_count),
            )
            for piece, part in zip(pieces, parts, strict=True)
        ]
    )
    total: Array = parts.sum(0)
    return total


def _by_filter(shape: Geometry, window: "_Window", images: int, rows: int) -> Array:
    """Return the numbers of the products whose sum is the gradient by the filters.

    The left matrices are the transposed rows of windows.
    """
    line = shape.columns.count * shape.units
    together = _together(rows, shape.columns.count)
    return cpu_products.numbers(
        first=images,
        first_left=window.image,
        first_right=shape.rows.count * line,
        second=rows // together,
        second_left=together * shape.rows.stride * window.line,
        second_right=together * line,
        repeats=together,
        repeat_left=shape.rows.stride * window.line,
        repeat_right=line,
        third=shape.rows.width,
        third_left=window.row,
        third_result=shape.columns.width * shape.depth * shape.units,
        fourth=window.parts,
        fourth_left=window.part,
        fourth_result=window.run * shape.units,
        rows=window.run,
        depth=shape.columns.count,
        columns=shape.units,
        left_row=1,
        left_column=shape.columns.stride * shape.depth,
        right_row=shape.units,
        result_row=shape.units,
    )


def by_input(shape: Geometry, kernel: Array, slope: Array) -> Array:
    """Return the gradient by the images, for windows that are any number of pixels apart."""
    slope = np.ascontiguousarray(slope)
    turned = kernel.transpose(0, 1, 3, 2).copy()
    padded = shape.padded(slope, len(slope))
    # Rows of windows overlap in an image, so each piece is a whole one.
    given = _by_input(shape, padded)

    cpu_products.share(
        [(one, turned, image, given) for one, image in zip(slope, padded, strict=True)]
    )
    return np.ascontiguousarray(shape.interior(padded))


def _by_input(shape: Geometry, padded: Array) -> Array:
    """Return the numbers of the products that add the gradient by one image."""
    line = padded.shape[2] * shape.depth
    return cpu_products.numbers(
        second=shape.rows.count,
        second_left=shape.columns.count * shape.units,
        second_result=shape.rows.stride * line,
        third=shape.rows.width,
        third_right=shape.columns.width * shape.units * shape.depth,
        third_result=shape.rows.dilation * line,
        fourth=shape.columns.width,
        fourth_right=shape.units * shape.depth,
        fourth_result=shape.columns.dilation * shape.depth,
        rows=shape.columns.count,
        depth=shape.units,
        columns=shape.depth,
        left_row=shape.units,
        left_column=1,
        right_row=shape.depth,
        result_row=shape.columns.stride * shape.depth,
    )


def _together(rows: int, columns: int) -> int:
    """Return how many rows of windows a tile adds up before it is stored.

    It is a divisor of `rows`.
    """
    divisors = (count for count in range(1, rows + 1) if not rows % count)
    return next((count for count in divisors if count * columns >= _DEEP), rows)


class _Window:
    """The distances in padded images, in elements, and the runs of neighbours in a window."""

    def __init__(self, shape: Geometry, padded: Array) -> None:
        self.image = padded[:1].size
        """The distance of the images."""
        self.line = padded.shape[2] * shape.depth
        """The distance of the rows of an image."""
        self.row = shape.rows.dilation * self.line
        """The distance of the rows of a window."""
        joined = shape.columns.dilation == 1
        self.parts = 1 if joined else shape.columns.width
        """The number of runs in a row of a window."""
        self.part = shape.columns.dilation * shape.depth
        """The distance of these runs."""
        self.run = shape.depth * (shape.columns.width if joined else 1)
        """The number of neighbours in a run."""
