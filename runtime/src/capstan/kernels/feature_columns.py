"""Kernels that feature columns need.

Sources: core/kernels/{bucketize,sparse_cross,sparse_reshape}_op.cc.
"""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.core import fingerprint, shapes
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_BITS: Final = 2**64 - 1
_MULTIPLIER: Final = 0xC6A4A7935BD1E995
_MOST: Final = 2**63 - 1


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


_Column = dict[int, list[Any]]
"""The features of the examples that have any."""


def _features(node: NodeContext, inputs: Sequence[Array]) -> tuple[list[_Column], int]:
    """Return the features of each column, and the size of the batch."""
    count = node.attrs["N"]
    columns: list[_Column] = []
    sizes = []
    for at in range(count):
        indices, values, shape = inputs[at], inputs[count + at], inputs[2 * count + at]
        if indices.ndim != 2 or indices.shape[1] != 2 or shape.shape != (2,):
            raise invalid(
                f"Input indices should be a matrix with 2 columns but received shape "
                f"{shapes.show(indices.shape)} at position {at}"
            )
        if values.shape != indices.shape[:1]:
            raise invalid(
                f"Expected {len(indices)} values at position {at}, got {shapes.show(values.shape)}"
            )
        column: _Column = {}
        for (example, _), value in zip(indices.tolist(), values.tolist(), strict=True):
            column.setdefault(example, []).append(value)
        columns.append(column)
        sizes.append(int(shape[0]))
    for value in inputs[3 * count :]:
        if value.ndim != 2:
            raise invalid(
                f"Dense inputs should be a matrix but received shape {shapes.show(value.shape)}"
            )
        columns.append(dict(enumerate(value.tolist())))
        sizes.append(len(value))
    if len(set(sizes)) > 1:
        raise invalid(f"Expected batch sizes that agree, got {sizes}")
    return columns, sizes[0] if sizes else 0


def _cross(node: NodeContext) -> Function:
    is_hashed, buckets = node.attrs["hashed_output"], int(node.attrs["num_buckets"]) or _MOST
    key = node.attrs["hash_key"] & _BITS

    def hashed(features: Sequence[Any]) -> int:
        result: int = key
        for feature in features:
            result = _joined(result, _number(feature))
        return result % buckets

    def joined(features: Sequence[Any]) -> bytes:
        return b"_X_".join(map(_text, features))

    combine: Any = hashed if is_hashed else joined

    def cross(*inputs: Array) -> tuple[Array, Array, Array]:
        columns, size = _features(node, inputs)
        examples = sorted(set.intersection(*map(set, columns))) if columns else []
        rows = [
            [combine(each) for each in itertools.product(*(column[at] for column in columns))]
            for at in examples
        ]
        places = [
            (at, place) for at, row in zip(examples, rows, strict=True) for place in range(len(row))
        ]
        values = np.empty(len(places), node.output_dtypes[1].as_numpy_dtype)
        values[:] = [value for row in rows for value in row]
        indices = np.array(places, np.int64).reshape(-1, 2)
        return indices, values, np.array([size, max(map(len, rows), default=0)], np.int64)

    return cross


def _number(feature: Any) -> int:
    number: int = fingerprint.farm64(feature) if isinstance(feature, bytes) else feature & _BITS
    return number


def _text(feature: Any) -> bytes:
    return feature if isinstance(feature, bytes) else str(feature).encode()


def _joined(first: int, second: int) -> int:
    """Return the fingerprint of two fingerprints (FingerprintCat64 of core/platform)."""
    result = first ^ _MULTIPLIER
    result ^= _shifted(second * _MULTIPLIER & _BITS) * _MULTIPLIER & _BITS
    result = result * _MULTIPLIER & _BITS
    return _shifted(_shifted(result) * _MULTIPLIER & _BITS)


def _shifted(value: int) -> int:
    return value ^ (value >> 47)


def _reshape(indices: Array, shape: Array, wanted: Array) -> tuple[Array, Array]:
    if indices.ndim != 2 or indices.shape[1:] != shape.shape or wanted.ndim != 1:
        raise invalid(
            f"Input indices of shape {shapes.show(indices.shape)} do not fit the input shape of "
            f"length {shape.size}, or the new shape is not a vector"
        )
    size, sizes = int(np.prod(shape)), wanted.tolist()
    if sizes.count(-1) > 1:
        first, second = [at for at, each in enumerate(sizes) if each == -1][:2]
        raise invalid(f"only one output dimension may be -1, not both {first} and {second}")
    if -1 in sizes:
        others = max(int(np.prod([each for each in sizes if each != -1])), 1)
        if size % others:
            raise invalid(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested "
                f"shape requires a multiple of {others}. input_shape="
                f"{shapes.show(tuple(shape.tolist()))} output_shape="
                f"{shapes.show(tuple(1 if each == -1 else each for each in sizes))}"
            )
        sizes[sizes.index(-1)] = size // others
    elif int(np.prod(sizes)) != size:
        raise invalid(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has "
            f"{int(np.prod(sizes))}. input_shape={shapes.show(tuple(shape.tolist()))} "
            f"output_shape={shapes.show(tuple(sizes))}"
        )
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
register(Kernel("SparseCross", _cross))
register(Kernel("SparseReshape", constantly(_reshape)))
