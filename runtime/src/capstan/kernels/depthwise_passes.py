"""Convolutions that filter each channel by itself on CPUs, in compiled loops that threads share."""

from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels import depthwise_loops, padding
from capstan.kernels.convolution_geometry import Geometry
from capstan.kernels.memory import is_on_host

_LEAST_NUMBERS: Final = 1 << 15
"""For fewer numbers, the compilation takes as long as hundreds of formulas."""

_LEAST_RUN: Final = 16
"""In shorter runs, vectors are almost empty."""

_PIECE: Final = 1 << 15
"""About so many numbers of the images are a piece."""

_SUMS: Final = 8
"""The gradient by the weights has at most so many pieces, which have sums of their own."""


class Passes:
    """The loops of one node. Thread-safe. Images have the channels behind, and are in C order."""

    def __init__(self) -> None:
        self._convolve = cpu_loops.Loop(depthwise_loops.convolve)
        self._spread = cpu_loops.Loop(depthwise_loops.spread)
        self._correlate = cpu_loops.Loop(depthwise_loops.correlate)

    def serve(self, shape: Geometry, images: Array) -> bool:
        """Return whether the loops are faster than formulas.

        `images` may be any array of the same device and dtype, which has about as many numbers.
        """
        return (
            is_on_host(images)
            and images.dtype.char in "fd"
            and images.size >= _LEAST_NUMBERS
            and shape.units == 1
            and shape.pixels > 0
            and _Runs(shape).size >= _LEAST_RUN
            and self._convolve.at_once() is not None
        )

    def forward(self, shape: Geometry, images: Array, kernel: Array) -> Array:
        padded, runs = padding.padded(images, shape.rows, shape.columns), _Runs(shape)
        size = len(images), shape.rows.count, shape.columns.count, shape.depth
        result = np.empty(size, images.dtype)
        self._run(self._convolve, runs, padded, padded, runs.weights(kernel), result)
        return result

    def by_input(self, shape: Geometry, kernel: Array, slope: Array) -> Array:
        """Return the gradient by the images."""
        runs = _Runs(shape)
        result = shape.padded(slope, len(slope))
        self._run(self._spread, runs, result, slope, runs.weights(kernel), result)
        return np.ascontiguousarray(shape.interior(result))

    def by_filter(self, shape: Geometry, images: Array, slope: Array) -> Array:
        """Return the gradient by each weight."""
        padded, runs = padding.padded(images, shape.rows, shape.columns), _Runs(shape)
        each = max(runs.images, -(-len(images) // _SUMS))
        starts = range(0, len(images), each)
        totals, parts = np.zeros((2, len(starts), runs.taps * runs.size), images.dtype)
        sizes = runs.sizes(padded, each)
        vectors = padded.reshape(-1), np.ascontiguousarray(slope).reshape(-1)
        self._correlate.share(
            (*vectors, part, total, sizes, start)
            for part, total, start in zip(parts, totals, starts, strict=True)
        )
        size = -1, shape.rows.width, shape.columns.width, runs.repeats, shape.depth
        by_weight: Array = totals.reshape(size).sum((0, 3), np.float64).astype(images.dtype)
        return by_weight

    def _run(self, loop: cpu_loops.Loop, runs: "_Runs", padded: Array, *arrays: Array) -> None:
        """Run a loop over all images, with the arrays that come before the sizes."""
        sizes = runs.sizes(padded, runs.images)
        vectors = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
        loop.share((*vectors, sizes, start) for start in range(0, len(padded), runs.images))


class _Runs:
    """The runs of output pixels."""

    def __init__(self, shape: Geometry) -> None:
        """If windows are one pixel apart, a run is a whole row of pixels, and else a pixel."""
        self._shape = shape
        self.repeats = shape.columns.count if shape.columns.stride == 1 else 1
        """The number of pixels in a run."""
        self.size = self.repeats * shape.depth
        """The numbers in a run."""
        self.taps = shape.rows.width * shape.columns.width
        self.images = max(1, _PIECE // (shape.pixels * shape.depth))
        """The number of images in a piece."""

    def weights(self, kernel: Array) -> Array:
        """Return the weights of each tap, for all numbers of a run."""
        return np.tile(kernel.reshape(self.taps, -1), self.repeats)

    def sizes(self, padded: Array, images: int) -> Array:
        """Return the sizes that the loops take, for calls of so many images."""
        rows, columns, depth = self._shape.rows, self._shape.columns, self._shape.depth
        line = padded.shape[2] * depth
        runs = columns.count // self.repeats
        distances = rows.stride * line, columns.stride * depth, rows.dilation * line
        return np.array(
            [
                *(rows.count, runs, self.size, rows.width, columns.width),
                *(*distances, columns.dilation * depth),
                *(padded[:1].size, rows.count * runs * self.size, len(padded), images),
            ],
            np.int64,
        )
