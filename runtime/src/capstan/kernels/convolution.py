"""Kernels of two-dimensional convolutions.

Most convolutions on CPUs need no copies of windows (`direct_convolution`). Otherwise, the copies of
the windows of some images form a matrix with one row for each output pixel, which is multiplied by
the filter. The images are taken in blocks, so that the matrix stays small.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capstan.core import dtypes, windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import convolution_groups, direct_convolution
from capstan.kernels.convolution_geometry import Geometry
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

BLOCK = 1 << 22
"""A block of windows has about this many bytes. Larger blocks leave the cache of a processor."""
DEVICE_BLOCK = 1 << 28
"""A block of windows on a device with memory of its own. Each block takes several kernels, and the
host starts kernels more slowly than a device runs small ones. The number is a guess.
"""
_TO_CHANNELS_LAST = (0, 2, 3, 1)
_TO_CHANNELS_FIRST = (0, 3, 1, 2)


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
    runs = shape.runs(padded) if view.flags.c_contiguous else None
    if runs is None:
        for i, j, rows, columns in shape.offsets():
            view[:, :, :, i, j] = padded[:, rows, columns]
        return
    joined = view.reshape(*view.shape[:4], -1)
    for i in range(shape.rows.width):
        joined[:, :, :, i] = runs[:, shape.rows.elements(i)]


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
    def conv(images: Array, kernel: Array) -> Array:
        images = channels_last(node, images)
        shape = geometry(node, images.shape, kernel.shape)
        if not shape.is_flat:
            return given_back(node, _convolved(node, shape, images, kernel))
        result = node.hardware.matmul(
            images.reshape(-1, shape.depth), kernel.reshape(shape.depth, shape.units)
        )
        return given_back(node, result.reshape(*images.shape[:3], shape.units))

    return conv


def _convolved(node: NodeContext, shape: Geometry, images: Array, kernel: Array) -> Array:
    """Return the convolution of images with a kernel, all with the channels behind."""
    if direct_convolution.serves(shape, images, shape.units):
        return direct_convolution.forward(shape, images, kernel)
    result = np.empty_like(kernel, shape=(len(images) * shape.pixels, shape.units))
    weights = kernel.reshape(shape.weights, shape.units)
    for rows, matrix in _windows(shape, images, _block_bytes(node)):
        node.hardware.matmul(matrix, weights, result[rows])
    return result.reshape(len(images), shape.rows.count, shape.columns.count, shape.units)


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


def _as_matrix(images: Array) -> Array:
    """Return a row for each pixel. NumPy finds no size for -1 if there are no channels."""
    return images.reshape(math.prod(images.shape[:-1]), images.shape[-1])


def _by_filter(node: NodeContext) -> Function:
    multiply, most_bytes = node.hardware.matmul, _block_bytes(node)

    def by_filter(images: Array, sizes: Array, slope: Array) -> Array:
        images, slope = channels_last(node, images), channels_last(node, slope)
        kernel_shape = tuple(vector(sizes, "filter_sizes"))
        shape = geometry(node, images.shape, kernel_shape)
        check_slope(shape, len(images), slope, shape.units)
        is_direct = direct_convolution.serves(shape, images, shape.units)
        if is_direct and not shape.is_flat:
            return direct_convolution.by_filter(shape, images, slope).reshape(kernel_shape)
        slopes = _as_matrix(slope)
        total = np.zeros_like(slope, shape=(shape.weights, shape.units))
        if shape.is_flat:
            multiply(_as_matrix(images).T, slopes, total)
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
        slopes = _as_matrix(slope)
        weights = kernel.reshape(shape.weights, shape.units).T
        if shape.is_flat:
            return given_back(node, multiply(slopes, weights).reshape(image_shape))
        turned = shape.turned()
        if turned is not None:
            mirrored = kernel[::-1, ::-1].transpose(0, 1, 3, 2).copy()
            return given_back(node, _convolved(node, turned, slope, mirrored))
        if direct_convolution.serves(shape, slope, shape.depth):
            return given_back(node, direct_convolution.by_input(shape, kernel, slope))
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
    ("Conv2D", convolution_groups.forward(_conv)),
    ("Conv2DBackpropFilter", convolution_groups.by_filter(_by_filter)),
    ("Conv2DBackpropInput", convolution_groups.by_input(_by_input)),
):
    register(Kernel(_op, in_single_precision(convolution_groups.in_space(_make))))
