"""Kernels of ops that create tensors from shapes and bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid, vector
from capstan.resources import variant

_VARIANT = {"T": frozenset({dtypes.variant})}


def _constant(node: NodeContext) -> Function:
    value = node.attrs["value"]
    return lambda: value


# The compiler binds the value and never calls this. The kernel tells the placer where a constant
# can run.
register(Kernel("Const", _constant))


def _only(value: Array) -> Array:
    if value.shape != (1,):
        raise invalid(f"value must be a scalar, got shape {show(value.shape)}")
    return value.reshape(())


def _fill(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def fill(dims: Array, value: Array, out: Array | None = None) -> Array:
        if value.ndim:  # Old graphs pass a vector of one element.
            value = _only(value)
        if out is None:
            out = np.empty_like(value, dtype, shape=sizes_in(dims), order="C")
        out[...] = value  # `fill` would store the array itself in an array of strings
        return out

    return fill


def sizes_in(dims: Array) -> tuple[int, ...]:
    """Return the shape in the vector `dims`.

    Raises:
        InvalidArgumentError: a size is negative, or `dims` is not a vector.
    """
    sizes = tuple(vector(dims, "a shape"))
    for size in sizes:
        if size < 0:
            raise invalid(f"Dimension {size} must be >= 0")
    return sizes


def _like(value: int) -> Any:
    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0]
        content: Any = (b"" if value == 0 else b"1") if dtype is dtypes.string else value

        def like(x: Array, out: Array | None = None) -> Array:
            if out is None:
                return np.full_like(x, content, order="C")
            out.fill(content)
            return out

        return like

    return make


def _zeros_of_several(nodes: Sequence[NodeContext]) -> Joined | None:
    dtype = nodes[0].output_dtypes[0]
    if dtype is dtypes.string:
        return None

    def zeros(arrays: Sequence[Array]) -> Columns:
        if type(arrays) is stacking.Column:
            shape = arrays.stacked.shape
            return (stacking.Column(arrays.blocks, np.zeros(shape, dtype.as_numpy_dtype)),)
        rests = {x.shape[1:] if x.ndim else None for x in arrays}
        if len(rests) == 1 and (rest := rests.pop()) is not None:
            blocks = stacking.Blocks.of(arrays)
            zeros = np.zeros((blocks.total, *rest), dtype.as_numpy_dtype)
            return (stacking.Column(blocks, zeros),)
        blocks = stacking.Blocks([x.size for x in arrays])
        parts = blocks.cut(np.zeros(blocks.total, dtype.as_numpy_dtype))
        return ([part.reshape(x.shape) for part, x in zip(parts, arrays, strict=True)],)

    return zeros


def _range(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    arange: Function = np.arange

    def make_range(start: Array, limit: Array, delta: Array) -> Array:
        first, last, step = start.item(), limit.item(), delta.item()
        if step == 0:
            raise invalid(f"Requires delta != 0: {step}")
        if step > 0 and first > last:
            raise invalid(f"Requires start <= limit when delta > 0: {first}/{last}")
        if step < 0 and first < last:
            raise invalid(f"Requires start >= limit when delta < 0: {first}/{last}")
        numbers: Array = arange(first, last, step, dtype)
        return numbers

    return make_range


register(Kernel("Fill", _fill, out=True))
register(Kernel("ZerosLike", constantly(variant.zeros_like), types=_VARIANT))
register(Kernel("ZerosLike", _like(0), out=True, join=Join(_zeros_of_several)))
register(Kernel("OnesLike", _like(1), out=True))
register(Kernel("Range", _range))
