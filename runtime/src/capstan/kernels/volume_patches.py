"""The kernel that takes volumes apart in patches (core/kernels/extract_volume_patches_op.cc)."""

import itertools

import numpy as np

from capstan import errors
from capstan.core import windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _spatial(node: NodeContext, name: str) -> list[int]:
    """Return the numbers of an attribute for the depth, the height and the width of volumes.

    Raises:
        OutOfRangeError: a number is not positive.
        UnimplementedError: a number for the batch or the channels is not 1.
    """
    batch, *spatial, channels = node.attrs[name]
    if (batch, channels) != (1, 1):
        raise errors.UnimplementedError(
            None, None, f"{name} are not supported in the batch and channel dimensions"
        )
    if min(spatial) < 1:
        raise errors.OutOfRangeError(None, None, f"{name} should be positive, but got {spatial}")
    return list(spatial)


def _extract(node: NodeContext) -> Function:
    sizes, strides = _spatial(node, "ksizes"), _spatial(node, "strides")

    def extract(volumes: Array) -> Array:
        axes = _axes(node, volumes, sizes, strides)
        counts = (volumes.shape[0], *(axis.count for axis in axes))
        depth = volumes.shape[4]
        patches = np.zeros_like(volumes, shape=(*counts, *sizes, depth))
        for inside in itertools.product(*(axis.inside() for axis in axes)):
            places, outputs, elements = zip(*inside, strict=True)
            patches[(slice(None), *outputs, *places)] = volumes[(slice(None), *elements)]
        return patches.reshape(*counts, int(np.prod(sizes)) * depth)

    return extract


def _axes(
    node: NodeContext, volumes: Array, sizes: list[int], strides: list[int]
) -> list[windows.Windows]:
    """Return the windows over the depth, the height and the width.

    Raises:
        InvalidArgumentError: the windows do not fit the volumes.
    """
    if volumes.ndim != 5:
        raise invalid(f"input must be 5-dimensional, but has shape {show(volumes.shape)}")
    sides = zip(volumes.shape[1:4], sizes, strides, strict=True)
    try:
        return [
            windows.over(side, size, stride, 1, node.attrs["padding"])
            for side, size, stride in sides
        ]
    except ValueError as error:
        raise invalid(str(error)) from None


register(Kernel("ExtractVolumePatches", _extract))
