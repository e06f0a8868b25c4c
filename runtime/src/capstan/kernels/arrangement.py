"""Kernels of the ops that roll, reinterpret and search arrays, and of the cross product."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_SEARCHED = {
    "T": frozenset(
        {
            *(dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int8),
            *(dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
        }
    )
}


def _roll(x: Array, shift: Array, axis: Array) -> Any:
    """Roll each axis by the sum of the shifts that name it."""
    if not x.ndim:
        raise invalid("input must be 1-D or higher")
    for name, value in (("shift", shift), ("axis", axis)):
        if value.ndim > 1:
            raise invalid(f"{name} must be a scalar or a 1-D vector. Found: {show(value.shape)}")
    if shift.shape != axis.shape:
        raise invalid("shift and axis must have the same size")
    shifts, axes = on_host(shift).reshape(-1).tolist(), on_host(axis).reshape(-1).tolist()
    for each in axes:
        if not -x.ndim <= each < x.ndim:
            raise invalid(f"axis {each + x.ndim if each < 0 else each} is out of range")
    if not axes:
        return x.copy()
    return np.roll(x, tuple(shifts), tuple(axes))


def _cross(a: Array, b: Array) -> Any:
    if a.shape != b.shape:
        raise invalid(f"Both inputs must be of same shape: {show(a.shape)} vs. {show(b.shape)}")
    if not a.ndim:
        raise invalid(f"Input must be at least 1D{show(a.shape)}")
    if a.shape[-1] != 3:
        raise errors.FailedPreconditionError(
            None, None, "Cross-products are only defined for 3-element vectors."
        )
    product = np.empty_like(a)
    for at, first, second in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        minuend = np.multiply(a[..., first], b[..., second])
        product[..., at] = np.subtract(minuend, np.multiply(a[..., second], b[..., first]))
    return product


def _bitcast(node: NodeContext) -> Function:
    before, after = node.input_dtypes[0], node.output_dtypes[0]
    target = after.as_numpy_dtype
    more, fewer = max(before.size // after.size, 1), max(after.size // before.size, 1)

    def cast(x: Array) -> Any:
        shape = x.shape if more == 1 else (*x.shape, more)
        if fewer > 1:
            if not shape or shape[-1] != fewer:
                raise invalid(f"Cannot bitcast from 1 to {fewer}")
            shape = shape[:-1]
        dense = x if x.flags.c_contiguous else x.copy()
        flat = dense.reshape(-1).view(target).reshape(shape)
        # 32-bit integers are in host memory.
        return on_host(flat) if after is dtypes.int32 else flat

    return cast


def _unravel_index(indices: Array, dims: Array) -> Any:
    """Return the coordinates of the elements. As in TensorFlow, those below 0 count backwards."""
    if indices.ndim > 1:
        raise invalid(f'The indices can only be scalar or vector, got "{show(indices.shape)}"')
    if dims.ndim != 1:
        raise invalid(f'The indices can only be 1-D, got "{show(dims.shape)}"')
    sizes = dims.tolist()
    for axis, size in enumerate(sizes):
        if size < 0:
            raise invalid(f"Input dims cannot be negative. Got dim = {size} at index {axis}")
        if size == 0:
            raise invalid(
                f"Input dims cannot contain a dim of zero, but dims contains zero at index {axis}"
            )
    flat = indices.reshape(-1).astype(np.int64)
    if (flat >= math.prod(sizes)).any():
        raise invalid("index is out of bound as with dims")
    found: Any = np.empty((len(sizes), flat.size), indices.dtype)
    rest = np.abs(flat)
    for axis in range(len(sizes) - 1, -1, -1):
        rest, place = np.divmod(rest, sizes[axis])
        found[axis] = np.sign(flat) * place
    return found if indices.ndim else found.reshape(-1)


def _bound(side: Literal["left", "right"]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        target = node.output_dtypes[0].as_numpy_dtype
        is_narrow = node.input_dtypes[0] is dtypes.bfloat16

        def search(rows: Array, values: Array) -> Any:
            for name, value in (("sorted_inputs", rows), ("values", values)):
                if value.ndim != 2:
                    raise invalid(
                        f"Shape must be rank 2 but is rank {value.ndim} for `{name}` argument"
                    )
            if len(rows) != len(values):
                raise invalid("Leading dim_size of both tensors must match.")
            if is_narrow:
                rows, values = rows.astype(np.float32), values.astype(np.float32)
            found = np.empty_like(values, np.int64)
            for index in range(len(rows)):
                found[index] = np.searchsorted(rows[index], values[index], side)
            return on_host(found).astype(target) if target is np.int32 else found

        return search

    return make


register(Kernel("Roll", constantly(_roll)))
register(Kernel("Cross", constantly(_cross)))
register(Kernel("Bitcast", _bitcast, alias=True))
register(Kernel("UnravelIndex", constantly(_unravel_index)))
register(Kernel("LowerBound", _bound("left"), types=_SEARCHED))
register(Kernel("UpperBound", _bound("right"), types=_SEARCHED))
