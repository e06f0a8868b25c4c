"""Kernels that dilate images or take them apart in patches (core/kernels/dilation_ops.cc,
extract_image_patches_op.cc): one pass over the outputs for each place in a window.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_Axes = tuple[windows.Windows, windows.Windows]


def _numbers(node: NodeContext, name: str) -> tuple[int, int]:
    """Return the numbers of an attribute for the height and the width of images.

    Raises:
        InvalidArgumentError: a number of a dilation is not positive.
        OutOfRangeError: a number of patches is not positive.
        UnimplementedError: a number for the batch or the channels is not 1.
    """
    batch, rows, columns, channels = node.attrs[name]
    if (batch, channels) != (1, 1):
        raise errors.UnimplementedError(
            None, None, f"{name} are not supported in the batch and depth dimensions"
        )
    if rows < 1 or columns < 1:
        kind = errors.OutOfRangeError if "ksizes" in node.attrs else errors.InvalidArgumentError
        raise kind(None, None, f"{name} should be positive, but got {rows} and {columns}")
    return rows, columns


def _axes(node: NodeContext, images: Array, sizes: tuple[int, int]) -> _Axes:
    """Return the windows of these sizes over the rows and the columns.

    Raises:
        InvalidArgumentError: the windows do not fit the images.
    """
    if images.ndim != 4:
        raise invalid(f"input must be 4-dimensional, but has shape {show(images.shape)}")
    strides, rates = _numbers(node, "strides"), _numbers(node, "rates")
    try:
        height, width = (
            windows.over(
                images.shape[1 + axis], size, strides[axis], rates[axis], node.attrs["padding"]
            )
            for axis, size in enumerate(sizes)
        )
    except ValueError as error:
        raise invalid(str(error)) from None
    return height, width


def _places(axes: _Axes) -> Iterator[tuple[int, int, Any, Any]]:
    """For each row and column in a window, yield the outputs that have it, and the pixels there."""
    for vertical, horizontal in itertools.product(*(axis.inside() for axis in axes)):
        (row, *rows), (column, *columns) = vertical, horizontal
        outputs, pixels = ((slice(None), *slices) for slices in zip(rows, columns, strict=True))
        yield row, column, outputs, pixels


def _dilated_axes(node: NodeContext, images: Array, kernel: Array) -> _Axes:
    if kernel.ndim != 3:
        raise invalid(f"filter must be 3-dimensional, but has shape {show(kernel.shape)}")
    axes = _axes(node, images, kernel.shape[:2])
    if images.shape[3] != kernel.shape[2]:
        raise invalid("input and filter must have the same depth")
    return axes


def _lowest(node: NodeContext, images: Array, axes: _Axes) -> Array:
    dtype = node.output_dtypes[0]
    shape = (images.shape[0], *(axis.count for axis in axes), images.shape[3])
    return np.full_like(images, dtype.as_numpy_dtype(dtype.min), shape=shape)


def _dilate(node: NodeContext) -> Function:
    def dilate(images: Array, kernel: Array) -> Array:
        axes = _dilated_axes(node, images, kernel)
        result = _lowest(node, images, axes)
        for row, column, outputs, pixels in _places(axes):
            target = result[outputs]
            np.fmax(target, np.add(images[pixels], kernel[row, column]), out=target)
        return result

    return dilate


def _chosen(
    node: NodeContext, images: Array, kernel: Array, grad: Array
) -> Iterator[tuple[int, int, Any, Array]]:
    """For each place in a window, yield the pixels there, and `grad` where they are the largest.

    The first of equals is the largest.
    """
    axes = _dilated_axes(node, images, kernel)
    largest = _lowest(node, images, axes)
    if grad.shape != largest.shape:
        raise invalid(
            f"out_backprop must have the shape {show(largest.shape)}, but has {show(grad.shape)}"
        )
    places = np.zeros_like(largest, dtype=np.int32)
    width = kernel.shape[1]
    for row, column, outputs, pixels in _places(axes):
        sums, target = np.add(images[pixels], kernel[row, column]), largest[outputs]
        is_larger = np.greater(sums, target)
        places[outputs] = np.where(is_larger, np.int32(row * width + column), places[outputs])
        np.fmax(target, sums, out=target)
    for row, column, outputs, pixels in _places(axes):
        is_here = np.equal(places[outputs], row * width + column)
        yield row, column, pixels, np.multiply(grad[outputs], is_here)


def _by_input(node: NodeContext) -> Function:
    def by_input(images: Array, kernel: Array, grad: Array) -> Array:
        result = np.zeros_like(images)
        for _, _, pixels, part in _chosen(node, images, kernel, grad):
            target = result[pixels]
            np.add(target, part, out=target)
        return result

    return by_input


def _by_filter(node: NodeContext) -> Function:
    def by_filter(images: Array, kernel: Array, grad: Array) -> Array:
        result = np.zeros_like(kernel)
        for row, column, _, part in _chosen(node, images, kernel, grad):
            result[row, column] = np.sum(part, (0, 1, 2), dtype=part.dtype)
        return result

    return by_filter


def _extract(node: NodeContext) -> Function:
    sizes = _numbers(node, "ksizes")

    def extract(images: Array) -> Array:
        axes = _axes(node, images, sizes)
        batch, depth = images.shape[0], images.shape[3]
        counts = (batch, *(axis.count for axis in axes))
        patches = np.zeros_like(images, shape=(*counts, *sizes, depth))
        for row, column, outputs, pixels in _places(axes):
            patches[(*outputs, row, column)] = images[pixels]
        return patches.reshape(*counts, sizes[0] * sizes[1] * depth)

    return extract


for _op, _make in (
    ("Dilation2D", _dilate),
    ("Dilation2DBackpropInput", _by_input),
    ("Dilation2DBackpropFilter", _by_filter),
    ("ExtractImagePatches", _extract),
):
    register(Kernel(_op, _make))
