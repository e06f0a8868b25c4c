"""Kernels that feature columns need.

Sources: core/kernels/{bucketize,sparse_reshape,sparse_slice}_op.cc.
"""

import math
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _bucketize(node: NodeContext) -> Function:
    boundaries = np.array(node.attrs["boundaries"], np.float32)
    if (np.diff(boundaries) < 0).any():
        raise invalid("Expected sorted boundaries")

    def bucketize(values: Array) -> Any:
        # NumPy converts both to a type that has all their values. CuPy does not.
        exact = boundaries.astype(np.result_type(boundaries.dtype, values.dtype))
        places = np.searchsorted(beside(exact, values), values, "right")
        return on_host(places.astype(np.int32))

    return bucketize


def _reshape(indices: Array, shape: Array, wanted: Array) -> tuple[Array, Array]:
    if indices.ndim != 2 or indices.shape[1:] != shape.shape or wanted.ndim != 1:
        raise invalid(
            f"Input indices of shape {shapes.show(indices.shape)} do not fit the input shape of "
            f"length {shape.size}, or the new shape is not a vector"
        )
    size, sizes = math.prod(shape.tolist()), wanted.tolist()
    if sizes.count(-1) > 1:
        first, second = [at for at, each in enumerate(sizes) if each == -1][:2]
        raise invalid(f"only one output dimension may be -1, not both {first} and {second}")
    if -1 in sizes:
        others = max(math.prod(each for each in sizes if each != -1), 1)
        if size % others:
            raise invalid(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested "
                f"shape requires a multiple of {others}. input_shape="
                f"{shapes.show(tuple(shape.tolist()))} output_shape="
                f"{shapes.show(tuple(1 if each == -1 else each for each in sizes))}"
            )
        sizes[sizes.index(-1)] = size // others
    elif math.prod(sizes) != size:
        raise invalid(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has "
            f"{math.prod(sizes)}. input_shape={shapes.show(tuple(shape.tolist()))} "
            f"output_shape={shapes.show(tuple(sizes))}"
        )
    if sizes == shape.tolist():
        return indices.copy(), np.array(sizes, np.int64)
    result = np.empty((len(indices), len(sizes)), np.int64)
    flat = np.zeros(len(indices), np.int64)
    for axis, count in enumerate(shape.tolist()):
        flat = flat * count + indices[:, axis]
    for axis in reversed(range(len(sizes))):
        count = max(sizes[axis], 1)
        result[:, axis] = flat % count
        flat //= count
    return result, np.array(sizes, np.int64)


def _slice(
    indices: Array, values: Array, shape: Array, start: Array, size: Array
) -> tuple[Array, Array, Array]:
    if not shape.shape == start.shape == size.shape:
        raise invalid(
            f"Expected start and size of length {shape.size}, got {start.size} and {size.size}"
        )
    if indices.shape != (len(values), shape.size):
        raise invalid(
            f"Input indices of shape {shapes.show(indices.shape)} do not fit {len(values)} values "
            f"and an input shape of length {shape.size}"
        )
    is_kept = ((indices >= start) & (indices < start + size)).all(1)
    return (
        indices[is_kept] - start,
        values[is_kept],
        np.maximum(np.minimum(shape - start, size), 0),
    )


def _slice_gradient(grad: Array, indices: Array, start: Array, found: Array) -> Array:
    """Return the gradient by the values of a sparse tensor of which a part was taken."""
    if grad.shape != (len(found),):
        raise invalid(
            f"Number of gradients and of output indices do not match, got {grad.size} and "
            f"{len(found)}"
        )
    if not indices.shape[1] == start.size == found.shape[1]:
        raise invalid(
            f"Expected indices and a start of one length, got {indices.shape[1]}, {start.size} "
            f"and {found.shape[1]}"
        )
    places = {tuple(row): place for place, row in enumerate((found + start).tolist())}
    result = np.zeros(len(indices), grad.dtype)
    for number, row in enumerate(indices.tolist()):
        place = places.get(tuple(row))
        if place is not None:
            result[number] = grad[place]
    return result


register(Kernel("SparseSlice", constantly(_slice)))
register(Kernel("SparseSliceGrad", constantly(_slice_gradient)))
register(Kernel("Bucketize", _bucketize))
register(Kernel("SparseReshape", constantly(_reshape)))
