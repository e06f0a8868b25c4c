"""Kernels that add margins, and that move blocks of pixels to other axes.

Sources: core/kernels/{pad,mirror_pad,spacetobatch,batchtospace,spacetodepth,depthtospace}_op.cc.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.layout import margins_of
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _pad(x: Array, margins: Array, value: Array) -> Array:
    if value.ndim:
        raise invalid(f"constant_values must be a scalar. Found: {show(value.shape)}")
    pairs = margins_of(x, margins)
    sizes = [sum(pair) + size for pair, size in zip(pairs, x.shape, strict=True)]
    out = np.full_like(x, value.item(), shape=sizes, order="C")
    out[(*_inside(pairs, x.shape), ...)] = x
    return out


def _inside(pairs: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[Any]:
    return [slice(before, before + size) for (before, _), size in zip(pairs, sizes, strict=True)]


def _mirror_pad(node: NodeContext) -> Function:
    is_reflected = node.attrs["mode"] == b"REFLECT"

    def pad(x: Array, margins: Array) -> Array:
        pairs = margins_of(x, margins)
        for (before, after), size in zip(pairs, x.shape, strict=True):
            if max(before, after) > size - is_reflected:
                relation = "less than" if is_reflected else "no greater than"
                raise invalid(
                    f"paddings must be {relation} the dimension size: {before}, {after} not "
                    f"{relation} {size}"
                )
        return np.pad(x, pairs, "reflect" if is_reflected else "symmetric")

    return pad


def _mirror_pad_grad(node: NodeContext) -> Function:
    edge = int(node.attrs["mode"] == b"REFLECT")  # a reflection leaves out the outermost element

    def folded(grad: Array, margins: Array) -> Array:
        for axis, (before, after) in enumerate(margins_of(grad, margins)):
            lines = np.moveaxis(grad, axis, 0)
            size = len(lines) - before - after
            if max(before, after) > size - edge:
                raise invalid(f"paddings {before}, {after} do not fit a size of {size}")
            inside = lines[before : before + size].copy()
            inside[edge : edge + before] += lines[:before][::-1]
            inside[size - edge - after : size - edge] += lines[before + size :][::-1]
            grad = np.moveaxis(inside, 0, axis)
        return grad.copy()

    return folded


def _block(x: Array, block_shape: Array, margins: Array, name: str) -> tuple[list[int], Any]:
    """Return the sizes of a block, and the pairs of margins."""
    if block_shape.ndim != 1:
        raise invalid(f"block_shape must be one dimensional, not {block_shape.ndim}")
    block, pairs = block_shape.tolist(), margins.tolist()
    if margins.shape != (len(block), 2):
        raise invalid(
            f"{name} should have shape [{len(block)}, 2] instead of {show(margins.shape)}"
        )
    if x.ndim < 1 + len(block):
        raise invalid(f"input rank should be >= {1 + len(block)} instead of {x.ndim}")
    if any(size < 1 for size in block):
        raise invalid("All values in block_shape must be positive")
    if any(size < 0 for pair in pairs for size in pair):
        raise invalid(f"All {name} must be non-negative")
    return block, pairs


def space_to_batch(x: Array, block_shape: Array, paddings: Array) -> Array:
    block, pairs = _block(x, block_shape, paddings, "paddings")
    rest = x.shape[1 + len(block) :]
    padded = np.pad(x, [(0, 0), *pairs, *((0, 0) for _ in rest)])
    sizes = padded.shape[1 : 1 + len(block)]
    for number, (size, part) in enumerate(zip(sizes, block, strict=True)):
        if size % part:
            raise invalid(
                f"padded_shape[{number}]={size} is not divisible by block_shape[{number}]={part}"
            )
    split = [each for size, part in zip(sizes, block, strict=True) for each in (size // part, part)]
    parts = padded.reshape(x.shape[0], *split, *rest)
    inner = range(2, 2 + 2 * len(block), 2)
    outer = range(1, 1 + 2 * len(block), 2)
    order = [*inner, 0, *outer, *range(1 + 2 * len(block), parts.ndim)]
    return parts.transpose(order).reshape(x.shape[0] * math.prod(block), *split[::2], *rest)


def batch_to_space(x: Array, block_shape: Array, crops: Array) -> Array:
    block, pairs = _block(x, block_shape, crops, "crops")
    count, rest = math.prod(block), x.shape[1 + len(block) :]
    if x.shape[0] % count:
        raise invalid(
            f"Input batch dimension ({x.shape[0]}) is not divisible by product of block sizes "
            f"({count})"
        )
    sizes = x.shape[1 : 1 + len(block)]
    parts = x.reshape(*block, x.shape[0] // count, *sizes, *rest)
    pixels = [axis for place in range(len(block)) for axis in (1 + len(block) + place, place)]
    order = [len(block), *pixels, *range(1 + 2 * len(block), parts.ndim)]
    full_sizes = [size * part for size, part in zip(sizes, block, strict=True)]
    joined = parts.transpose(order).reshape(x.shape[0] // count, *full_sizes, *rest)
    kept: list[Any] = []
    for number, ((before, after), size) in enumerate(zip(pairs, full_sizes, strict=True)):
        if before + after > size:
            raise invalid(f"cropped_shape[{number}]={size - before - after} must be non-negative")
        kept.append(slice(before, size - after))
    return joined[(slice(None), *kept, ...)].copy()


def _space_to_depth(node: NodeContext) -> Function:
    block = _block_size(node)

    def move(x: Array) -> Array:
        batch, height, width, depth = _image(x)
        if height % block or width % block:
            raise invalid(
                f"Image width {width} and height {height} should be divisible by block_size: "
                f"{block}"
            )
        high, wide = height // block, width // block
        parts = x.reshape(batch, high, block, wide, block, depth)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(batch, high, wide, block**2 * depth)

    return move


def _depth_to_space(node: NodeContext) -> Function:
    block = _block_size(node)

    def move(x: Array) -> Array:
        batch, height, width, depth = _image(x)
        if depth % block**2:
            raise invalid(f"Input depth dimension {depth} should be divisible by: {block**2}")
        parts = x.reshape(batch, height, width, block, block, depth // block**2)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(
            batch, height * block, width * block, depth // block**2
        )

    return move


def _block_size(node: NodeContext) -> int:
    if node.attrs["data_format"] != b"NHWC":
        name = node.attrs["data_format"].decode()
        raise invalid(f"Only NHWC data_format supported on CPU. Got {name}")
    size: int = node.attrs["block_size"]
    return size


def _image(x: Array) -> tuple[int, ...]:
    if x.ndim != 4:
        raise invalid(f"Input rank should be: 4 instead of: {x.ndim}")
    shape: tuple[int, ...] = x.shape
    return shape


register(Kernel("PadV2", constantly(_pad)))
register(Kernel("MirrorPad", _mirror_pad))
register(Kernel("MirrorPadGrad", _mirror_pad_grad))
register(Kernel("SpaceToBatchND", constantly(space_to_batch)))
register(Kernel("BatchToSpaceND", constantly(batch_to_space)))
register(Kernel("SpaceToDepth", _space_to_depth))
register(Kernel("DepthToSpace", _depth_to_space))
