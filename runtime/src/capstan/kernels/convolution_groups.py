"""What kernels of convolutions do first: refuse steps over images or channels, and divide channels.

Filters that have a fraction of the channels of the images convolve groups of channels. TensorFlow 1
computes them on GPUs only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, NodeContext
from capstan.kernels.rejection import invalid, vector

_UNITS = 3
"""The axis of filters that has a number for each filter."""


def in_space(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return a `make` that refuses a node whose windows step over images or channels.

    The node fails before the step runs, as in TensorFlow.
    """

    def make_checked(node: NodeContext) -> Function:
        is_channels_first = node.attrs.get("data_format", b"NHWC").startswith(b"NC")
        for name in ("strides", "dilations"):
            numbers = node.attrs.get(name, [1])
            if numbers[0] != 1 or numbers[1 if is_channels_first else -1] != 1:
                raise invalid(
                    f"Current implementation does not yet support {name} in the batch and depth "
                    f"dimensions, but the {name} are {list(numbers)}"
                )
        return make(node)

    return make_checked


def _count(channels: int, depth: int, units: int) -> int:
    """Return the number of groups, or 1 if the convolution itself refuses the filters.

    Raises:
        InvalidArgumentError: the groups would have different numbers of filters.
    """
    if depth < 1 or channels % depth:
        return 1
    groups = max(1, channels // depth)
    if units % groups:
        raise invalid(
            f"Depth of output ({units}) is not a multiple of the number of groups ({groups})"
        )
    return groups


def _part(value: Array, axis: int, group: int, groups: int) -> Any:
    """Return the part of an axis that belongs to a group, in contiguous memory."""
    size = value.shape[axis] // groups
    place = [slice(None)] * value.ndim
    place[axis] = slice(group * size, (group + 1) * size)
    return value[tuple(place)].copy()


def _channels(node: NodeContext) -> int:
    return windows.axes_of(node.attrs["data_format"])[2]


def forward(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return the `make` of a convolution of images with filters, for groups of channels."""

    def make_grouped(node: NodeContext) -> Function:
        convolve, axis = make(node), _channels(node)

        def run(images: Array, kernel: Array) -> Any:
            is_known = images.ndim == kernel.ndim == 4
            groups = _count(images.shape[axis], *kernel.shape[2:]) if is_known else 1
            if groups == 1:
                return convolve(images, kernel)
            parts = [
                convolve(_part(images, axis, group, groups), _part(kernel, _UNITS, group, groups))
                for group in range(groups)
            ]
            return np.concatenate(parts, axis)

        return run

    return make_grouped


def by_filter(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return the `make` of the gradient by the filters, for groups of channels."""

    def make_grouped(node: NodeContext) -> Function:
        convolve, axis = make(node), _channels(node)

        def run(images: Array, sizes: Array, slope: Array) -> Any:
            shape = vector(sizes, "filter_sizes")
            is_known = images.ndim == slope.ndim == len(shape) == 4
            groups = _count(images.shape[axis], *shape[2:]) if is_known else 1
            if groups == 1:
                return convolve(images, sizes, slope)
            each = np.array([*shape[:_UNITS], shape[_UNITS] // groups], np.int32)
            parts = [
                convolve(
                    _part(images, axis, group, groups), each, _part(slope, axis, group, groups)
                )
                for group in range(groups)
            ]
            return np.concatenate(parts, _UNITS)

        return run

    return make_grouped


def by_input(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return the `make` of the gradient by the images, for groups of channels."""

    def make_grouped(node: NodeContext) -> Function:
        convolve, axis = make(node), _channels(node)

        def run(sizes: Array, kernel: Array, slope: Array) -> Any:
            shape = vector(sizes, "input_sizes")
            is_known = kernel.ndim == slope.ndim == len(shape) == 4
            groups = _count(shape[axis], *kernel.shape[2:]) if is_known else 1
            if groups == 1:
                return convolve(sizes, kernel, slope)
            each = np.array(shape, np.int32)
            each[axis] //= groups
            parts = [
                convolve(
                    each, _part(kernel, _UNITS, group, groups), _part(slope, axis, group, groups)
                )
                for group in range(groups)
            ]
            return np.concatenate(parts, axis)

        return run

    return make_grouped
