"""Kernels that compute shapes, and kernels that change the shape of a tensor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.creation import sizes_in
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


def _shape(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def shape(x: Array) -> Array:
        return np.array(x.shape, dtype)

    return shape


def _shapes_of_several(nodes: Sequence[NodeContext]) -> Joined:
    dtype = nodes[0].output_dtypes[0].as_numpy_dtype

    def shapes_of(arrays: Sequence[Array]) -> Columns:
        if type(arrays) is stacking.Column:
            rest = arrays.stacked.shape[1:]
            shapes = np.empty((len(arrays), 1 + len(rest)), dtype)
            shapes[:, 0], shapes[:, 1:] = arrays.blocks.sizes, rest
            return (list(shapes),)
        # NumPy refuses shapes of several ranks.
        return (list(np.array([x.shape for x in arrays], dtype)),)

    return shapes_of


def _shape_n(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    if len(node.output_dtypes) == 1:
        return _shape(node)
    return lambda *tensors: tuple(np.array(tensor.shape, dtype) for tensor in tensors)


def _size(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def size(x: Array) -> Any:
        return dtype(x.size)

    return size


def _rank(node: NodeContext) -> Function:
    def rank(x: Array) -> Any:
        return np.int32(x.ndim)

    return rank


def _reshape(node: NodeContext) -> Function:
    known = node.constants.get(1)
    fixed = None if known is None else tuple(known.ravel().tolist())

    def reshape(x: Array, sizes: Array) -> Array:
        requested = tuple(vector(sizes, "sizes input")) if fixed is None else fixed
        try:
            return x.reshape(requested)
        except ValueError:
            # In contrast to NumPy, TensorFlow also infers a size beside a size of 0.
            found = shapes.reshaped(x.shape, requested) if requested.count(-1) == 1 else None
            if found is None:
                raise _not_reshaped(x, requested) from None
            return x.reshape(found)

    return reshape


def _not_reshaped(x: Array, sizes: tuple[int, ...]) -> Exception:
    count = int(np.prod([size for size in sizes if size >= 0], dtype=np.int64))
    if sizes.count(-1) > 1:
        return invalid(f"Only one input size may be -1, not both {show(sizes)}")
    if -1 in sizes:
        return invalid(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape requires "
            f"a multiple of {count}"
        )
    return invalid(
        f"Input to reshape is a tensor with {x.size} values, but the requested shape has {count}"
    )


def _expand_dims(x: Array, axis: Array) -> Array:
    at = int(axis.item())
    if not -x.ndim - 1 <= at <= x.ndim:
        raise invalid(f"Tried to expand dim index {at} for tensor with {x.ndim} dimensions.")
    at %= x.ndim + 1
    return x.reshape(*x.shape[:at], 1, *x.shape[at:])


def _squeeze(node: NodeContext) -> Function:
    axes = tuple(node.attrs["squeeze_dims"])

    def squeeze(x: Array) -> Array:
        removed = {axis % x.ndim for axis in axes}
        for axis in removed:
            if x.shape[axis] != 1:
                raise invalid(
                    f"Can not squeeze dim[{axis}], expected a dimension of 1, got {x.shape[axis]}"
                )
        return x.reshape(
            [
                size
                for axis, size in enumerate(x.shape)
                if (axis not in removed if axes else size != 1)
            ]
        )

    return squeeze


def _broadcast_to(x: Array, sizes: Array, out: Array | None = None) -> Array:
    if sizes.ndim != 1:
        raise invalid(f"the shape must be 1-D, got {show(sizes.shape)}")
    out = np.empty_like(x, shape=sizes_in(sizes), order="C") if out is None else out
    if x.ndim > out.ndim:  # np.copyto would drop leading axes of size 1.
        raise invalid(f"Incompatible shapes: {show(x.shape)} vs. {show(out.shape)}")
    try:
        np.copyto(out, x)
    except ValueError:
        raise invalid(f"Incompatible shapes: {show(x.shape)} vs. {show(out.shape)}") from None
    return out


def _gradient_args(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def gradient_args(x: Array, y: Array) -> tuple[Array, Array]:
        if x.ndim != 1 or y.ndim != 1:
            raise invalid(f"shapes must be vectors, not {show(x.shape)} and {show(y.shape)}")
        if x.shape == y.shape and (x == y).all():
            return np.array([], dtype), np.array([], dtype)
        rank = max(len(x), len(y))
        left, right = (np.ones(rank, dtype) for _ in range(2))
        left[rank - len(x) :], right[rank - len(y) :] = x, y
        if ((left != right) & (left != 1) & (right != 1)).any():
            raise invalid(f"Incompatible shapes: {show(x.tolist())} vs. {show(y.tolist())}")
        # As in TensorFlow, an axis of size 1 in both shapes is in both results.
        return np.flatnonzero(left == 1).astype(dtype), np.flatnonzero(right == 1).astype(dtype)

    return gradient_args


def _broadcast_args(x: Array, y: Array) -> Array:
    for index, sizes in enumerate((x, y)):
        if sizes.ndim != 1:
            raise invalid(f"In[{index}] must be a vector.{show(sizes.shape)}")
    try:
        known = shapes.broadcast(tuple(x.tolist()), tuple(y.tolist()))
    except ValueError:
        raise invalid(f"Incompatible shapes: {show(x.tolist())} vs. {show(y.tolist())}") from None
    return np.array(known, x.dtype)


register(Kernel("Shape", _shape, join=Join(_shapes_of_several, tables=(0,))))
register(Kernel("ShapeN", _shape_n))
register(Kernel("Size", _size))
register(Kernel("Rank", _rank))
register(Kernel("Reshape", _reshape, alias=True))
register(Kernel("ExpandDims", lambda node: _expand_dims, alias=True))
register(Kernel("Squeeze", _squeeze, alias=True))
register(Kernel("BroadcastTo", lambda node: _broadcast_to, out=True))
register(Kernel("BroadcastGradientArgs", _gradient_args))
register(Kernel("BroadcastArgs", constantly(_broadcast_args)))
