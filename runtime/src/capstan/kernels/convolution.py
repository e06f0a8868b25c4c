"""Kernels of two-dimensional convolutions: copies of windows, and one matrix product for each.

The copies of the windows of some images form a matrix with one row for each output pixel, which is
multiplied by the filter. The images are taken in blocks, so that the matrix stays small.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import dtypes, windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

BLOCK = 1 << 22
"""A block of windows has about this many bytes. Larger blocks leave the cache of a processor."""
DEVICE_BLOCK = 1 << 28
"""A block of windows on a device with memory of its own. Each block takes several kernels, and the
host starts kernels more slowly than a device runs small ones. The number is a guess.
"""
FEW_CHANNELS = 8
"""Images with fewer channels are copied in runs along their width, not along their channels."""

_TO_CHANNELS_LAST = (0, 2, 3, 1)
_TO_CHANNELS_FIRST = (0, 3, 1, 2)


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


def geometry(node: NodeContext, image: tuple[int, ...], kernel: tuple[int, ...]) -> Geometry:
    """Return the geometry for images and filters of these shapes. Images are channels last.

    Raises:
        InvalidArgumentError: the shapes do not fit.
    """
    if len(image) != 4:
        raise invalid(f"input must be 4-dimensional{show(image)}")
    if len(kernel) != 4:
        raise invalid(f"filter must be 4-dimensional: {show(kernel)}")
    if kernel[2] != image[3]:
        raise invalid(
            f"input depth must be evenly divisible by filter depth: {image[3]} vs {kernel[2]}"
        )
    strides, dilations = node.attrs["strides"], node.attrs["dilations"]
    try:
        rows, columns = (
            windows.over(
                image[place],
                kernel[place - 1],
                strides[axis],
                dilations[axis],
                windows.padding_of(node.attrs, axis),
            )
            for place, axis in enumerate(windows.axes_of(node.attrs["data_format"])[:2], 1)
        )
    except ValueError as error:
        raise invalid(str(error)) from None
    return Geometry(rows, columns, kernel[2], kernel[3])


def _is_channels_first(node: NodeContext) -> bool:
    return windows.axes_of(node.attrs["data_format"])[2] == 1


def channels_last(node: NodeContext, images: Array) -> Array:
    """Return images with the channels behind, in contiguous memory."""
    is_turned = _is_channels_first(node) and images.ndim == 4
    return images.transpose(_TO_CHANNELS_LAST).copy() if is_turned else images


def last_shape(node: NodeContext, shape: tuple[int, ...]) -> tuple[int, ...]:
    is_turned = _is_channels_first(node) and len(shape) == 4
    return tuple(shape[axis] for axis in _TO_CHANNELS_LAST) if is_turned else shape


def given_back(node: NodeContext, result: Array) -> Array:
    """Return images that are channels last in the format of the node."""
    if not _is_channels_first(node):
        return result
    return result.transpose(_TO_CHANNELS_FIRST).copy()


def _fill(shape: Geometry, images: Array, padded: Array, view: Array) -> None:
    """Copy the windows of images into `view`."""
    shape.interior(padded)[...] = images
    for i, j, rows, columns in shape.offsets():
        view[:, :, :, i, j] = padded[:, rows, columns]


def check_slope(shape: Geometry, images: int, slope: Array, units: int) -> None:
    wanted = (images, shape.rows.count, shape.columns.count, units)
    if slope.shape != wanted:
        raise invalid(
            f"out_backprop has shape {show(slope.shape)}, but the convolution has the output shape "
            f"{show(wanted)} (channels last)"
        )


def _block_bytes(node: NodeContext) -> int:
    return BLOCK if node.hardware.is_host else DEVICE_BLOCK


def _conv(node: NodeContext) -> Function:
    multiply, most_bytes = node.hardware.matmul, _block_bytes(node)

    def conv(images: Array, kernel: Array) -> Array:
        images = channels_last(node, images)
        shape = geometry(node, images.shape, kernel.shape)
        count = len(images)
        result = np.empty_like(kernel, shape=(count * shape.pixels, shape.units))
        weights = kernel.reshape(shape.weights, shape.units)
        if shape.is_flat:
            multiply(images.reshape(-1, shape.depth), weights, result)
        else:
            for rows, matrix in _windows(shape, images, most_bytes):
                multiply(matrix, weights, result[rows])
        outer = (count, shape.rows.count, shape.columns.count, shape.units)
        return given_back(node, result.reshape(outer))

    return conv


def _windows(shape: Geometry, images: Array, most_bytes: int) -> Iterator[tuple[slice, Array]]:
    """Yield the windows of each block of images, as a matrix, and their places among all windows.

    The blocks share the memory of the matrix.
    """
    memory = None
    for block in shape.blocks(len(images), images.itemsize, most_bytes):
        count = block.stop - block.start
        if memory is None or len(memory[0]) != count:
            memory = (shape.padded(images, count), *shape.matrix(images, count))
        padded, matrix, view = memory
        _fill(shape, images[block], padded, view)
        yield slice(block.start * shape.pixels, block.stop * shape.pixels), matrix


def _by_filter(node: NodeContext) -> Function:
    multiply, most_bytes = node.hardware.matmul, _block_bytes(node)

    def by_filter(images: Array, sizes: Array, slope: Array) -> Array:
        images, slope = channels_last(node, images), channels_last(node, slope)
        kernel_shape = tuple(vector(sizes, "filter_sizes"))
        shape = geometry(node, images.shape, kernel_shape)
        check_slope(shape, len(images), slope, shape.units)
        slopes = slope.reshape(-1, shape.units)
        total = np.zeros_like(slope, shape=(shape.weights, shape.units))
        if shape.is_flat:
            multiply(images.reshape(-1, shape.depth).T, slopes, total)
            return total.reshape(kernel_shape)
        for rows, matrix in _windows(shape, images, most_bytes):
            np.add(total, multiply(matrix.T, slopes[rows]), total)
        return total.reshape(kernel_shape)

    return by_filter


def _by_input(node: NodeContext) -> Function:
    multiply, most_bytes = node.hardware.matmul, _block_bytes(node)

    def by_input(sizes: Array, kernel: Array, slope: Array) -> Array:
        slope = channels_last(node, slope)
        image_shape = last_shape(node, tuple(vector(sizes, "input_sizes")))
        shape = geometry(node, image_shape, kernel.shape)
        check_slope(shape, image_shape[0], slope, shape.units)
        slopes = slope.reshape(-1, shape.units)
        weights = kernel.reshape(shape.weights, shape.units).T
        if shape.is_flat:
            return given_back(node, multiply(slopes, weights).reshape(image_shape))
        result = np.empty_like(kernel, shape=image_shape)
        for block in shape.blocks(len(result), kernel.itemsize, most_bytes):
            rows = slice(block.start * shape.pixels, block.stop * shape.pixels)
            parts = multiply(slopes[rows], weights)
            result[block] = _spread(shape, parts, block.stop - block.start)
        return given_back(node, result)

    return by_input


def _spread(shape: Geometry, parts: Array, images: int) -> Any:
    """Return the gradient by some images. `parts` has the gradient of each window as a row."""
    height, width = shape.rows.width, shape.columns.width
    outer = (images, shape.rows.count, shape.columns.count)
    padded = shape.padded(parts, images)
    places = parts.reshape(*outer, height, width, shape.depth)
    for i, j, rows, columns in shape.offsets():
        target = padded[:, rows, columns]
        np.add(target, places[:, :, :, i, j], target)
    return shape.interior(padded)


def in_single_precision(make: Callable[[NodeContext], Function]) -> Any:
    """Let a kernel compute float16 in float32, which is faster and more exact."""

    def make_wide(node: NodeContext) -> Function:
        function = make(node)
        if node.output_dtypes[0] is not dtypes.float16:
            return function

        def run(*inputs: Array) -> Any:
            wide = (x.astype(np.float32) if x.dtype == np.float16 else x for x in inputs)
            return function(*wide).astype(np.float16)

        return run

    return make_wide


for _op, _make in (
    ("Conv2D", _conv),
    ("Conv2DBackpropFilter", _by_filter),
    ("Conv2DBackpropInput", _by_input),
):
    register(Kernel(_op, in_single_precision(_make)))
