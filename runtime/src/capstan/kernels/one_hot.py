"""The kernel of OneHot (core/kernels/one_hot_op.cc)."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.memory import beside, is_on_host, numbers, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

_MANY = 8192
"""From this number of elements on, it is faster to write those that are on than to compare."""


def _one_hot(node: NodeContext) -> Function:
    axis = node.attrs["axis"]

    def one_hot(
        indices: Array, depth: Array, on: Array, off: Array, out: Array | None = None
    ) -> Array:
        count = number(depth, "depth")
        if count < 0:
            raise invalid(f"depth must be non-negative, got: {count}")
        for name, value in (("on_value", on), ("off_value", off)):
            if value.ndim:
                raise invalid(f"{name} must be a scalar, but got: {show(value.shape)}")
        at = indices.ndim if axis == -1 else axis
        if is_on_host(on):
            indices = on_host(indices)  # A GPU has 64-bit indices, but no 32-bit results.
        if is_on_host(on) and indices.ndim and indices.size * count >= _MANY:
            return _marked(indices, at, count, on, off, out)
        classes = numbers(count, on).reshape(count, *(1,) * (indices.ndim - at))
        places = beside(indices, on).reshape(*indices.shape[:at], 1, *indices.shape[at:])
        is_on = np.equal(places, classes)
        if out is None:
            return np.where(is_on, on, off)
        np.copyto(out, off)
        np.copyto(out, on, where=is_on)
        return out

    return one_hot


def _marked(
    indices: Array, axis: int, count: int, on: Array, off: Array, out: Array | None
) -> Array:
    """Return the array of `one_hot`, to which only the elements that are on are written."""
    if out is None:
        out = np.empty((*indices.shape[:axis], count, *indices.shape[axis:]), on.dtype)
    out.fill(off)
    is_inside = (indices >= 0) & (indices < count)
    np.moveaxis(out, axis, -1)[(*is_inside.nonzero(), indices[is_inside])] = on
    return out


register(Kernel("OneHot", _one_hot, out=True))
