"""Kernels of convolutions over volumes: one matrix product for each place in a window."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import convolution_groups
from capstan.kernels.convolution import in_single_precision
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

_TO_CHANNELS_LAST = (0, 2, 3, 4, 1)
_TO_CHANNELS_FIRST = (0, 4, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class _Geometry:
    """The windows over the depth, the height and the width of volumes. Channels are last."""

    axes: tuple[windows.Windows, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(axis.count for axis in self.axes)

    def places(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield each place in a window, and the slices of padded volumes for this place."""
        for offsets in itertools.product(*(range(axis.width) for axis in self.axes)):
            slices = (axis.elements(at) for axis, at in zip(self.axes, offsets, strict=True))
            yield offsets, (slice(None), *slices)

    def empty(self, like: Array, shape: tuple[int, ...]) -> Array:
        """Return zeros for volumes of this shape with their padding."""
        padded = (axis.padded for axis in self.axes)
        return np.zeros_like(like, shape=(shape[0], *padded, shape[-1]))

    def interior(self, padded: Array) -> Any:
        """Return the part of padded volumes that is not padding, as a view."""
        slices = (slice(axis.before, axis.before + axis.size) for axis in self.axes)
        return padded[(slice(None), *slices)]

    def padded(self, volumes: Array) -> Array:
        result = self.empty(volumes, volumes.shape)
        self.interior(result)[...] = volumes
        return result


def _geometry(node: NodeContext, volume: tuple[int, ...], kernel: tuple[int, ...]) -> _Geometry:
    """Return the windows for volumes and filters of these shapes.

    Raises:
        InvalidArgumentError: the shapes do not fit.
    """
    if len(volume) != 5 or len(kernel) != 5:
        raise invalid(
            f"Conv3D needs an input and a filter of rank 5, but they have the shapes "
            f"{show(volume)} and {show(kernel)}"
        )
    if volume[4] != kernel[3]:
        raise invalid(f"Input depth must match filter depth: {volume[4]} vs {kernel[3]}")
    first = 2 if _is_channels_first(node) else 1
    strides, dilations = (node.attrs[name][first:] for name in ("strides", "dilations"))
    try:
        return _Geometry(
            tuple(
                windows.over(
                    volume[axis + 1],
                    kernel[axis],
                    strides[axis],
                    dilations[axis],
                    node.attrs["padding"],
                )
                for axis in range(3)
            )
        )
    except ValueError as error:
        raise invalid(str(error)) from None


def _is_channels_first(node: NodeContext) -> bool:
    return bool(node.attrs["data_format"] == b"NCDHW")


def _channels_last(node: NodeContext, volumes: Array) -> Array:
    if not _is_channels_first(node) or volumes.ndim != 5:
        return volumes
    return volumes.transpose(_TO_CHANNELS_LAST).copy()


def _given_back(node: NodeContext, volumes: Array) -> Array:
    """Return volumes that are channels last in the format of the node."""
    if not _is_channels_first(node):
        return volumes
    return volumes.transpose(_TO_CHANNELS_FIRST).copy()


def _check_slope(shape: _Geometry, count: int, units: int, slope: Array) -> None:
    wanted = (count, *shape.counts, units)
    if slope.shape != wanted:
        raise invalid(
            f"out_backprop has shape {show(slope.shape)}, but the convolution has the output shape "
            f"{show(wanted)} (channels last)"
        )


def _product(node: NodeContext) -> Function:
    """Return a function that multiplies the channels of volumes by a matrix."""
    multiply = node.hardware.matmul
    if node.hardware.is_host:
        return multiply

    def product(volumes: Array, matrix: Array) -> Any:
        # A GPU is busier with one large product than with one for each row of the volumes.
        *outer, depth = volumes.shape
        flat = multiply(volumes.reshape(math.prod(outer), depth), matrix)
        return flat.reshape(*outer, matrix.shape[1])

    return product


def _conv(node: NodeContext) -> Function:
    multiply = _product(node)

    def conv(volumes: Array, kernel: Array) -> Array:
        volumes = _channels_last(node, volumes)
        shape = _geometry(node, volumes.shape, kernel.shape)
        result = np.zeros_like(volumes, shape=(len(volumes), *shape.counts, kernel.shape[4]))
        padded = shape.padded(volumes)
        for offsets, slices in shape.places():
            np.add(result, multiply(padded[slices], kernel[offsets]), result)
        return _given_back(node, result)

    return conv


def _by_filter(node: NodeContext) -> Function:
    multiply = node.hardware.matmul

    def by_filter(volumes: Array, sizes: Array, slope: Array) -> Array:
        volumes, slope = _channels_last(node, volumes), _channels_last(node, slope)
        kernel_shape = tuple(vector(sizes, "filter_sizes"))
        shape = _geometry(node, volumes.shape, kernel_shape)
        _check_slope(shape, len(volumes), kernel_shape[4], slope)
        result = np.zeros_like(slope, shape=kernel_shape)
        padded = shape.padded(volumes)
        slopes = slope.reshape(-1, kernel_shape[4])
        for offsets, slices in shape.places():
            rows = padded[slices].reshape(-1, kernel_shape[3])
            multiply(rows.T, slopes, result[offsets])
        return result

    return by_filter


def _by_input(node: NodeContext) -> Function:
    multiply = _product(node)

    def by_input(sizes: Array, kernel: Array, slope: Array) -> Array:
        slope = _channels_last(node, slope)
        given = tuple(vector(sizes, "input_sizes"))
        is_turned = _is_channels_first(node) and len(given) == 5
        volume_shape = tuple(given[axis] for axis in _TO_CHANNELS_LAST) if is_turned else given
        shape = _geometry(node, volume_shape, kernel.shape)
        _check_slope(shape, volume_shape[0], kernel.shape[4], slope)
        padded = shape.empty(slope, volume_shape)
        for offsets, slices in shape.places():
            target = padded[slices]
            np.add(target, multiply(slope, kernel[offsets].T), target)
        return _given_back(node, shape.interior(padded).copy())

    return by_input


def _sized_by(index: int, make: Callable[[NodeContext], Function]) -> Any:
    """Return the kernel of the first version of a gradient.

    It takes the tensor at `index` in the place of its shape, and channels are last.
    """

    def make_sized(node: NodeContext) -> Function:
        run = make(replace(node, attrs={**node.attrs, "data_format": b"NDHWC"}))

        def sized(*inputs: Array) -> Any:
            given = list(inputs)
            given[index] = np.array(inputs[index].shape)
            return run(*given)

        return sized

    return make_sized


for _op, _make in (
    ("Conv3D", _conv),
    ("Conv3DBackpropFilter", _sized_by(1, _by_filter)),
    ("Conv3DBackpropInput", _sized_by(0, _by_input)),
    ("Conv3DBackpropFilterV2", _by_filter),
    ("Conv3DBackpropInputV2", _by_input),
):
    register(Kernel(_op, in_single_precision(convolution_groups.in_space(_make))))
