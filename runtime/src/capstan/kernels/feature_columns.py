"""Kernels that feature columns need.

Sources: core/kernels/{bucketize,sparse_cross,sparse_reshape}_op.cc.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan.core import arrays, farmhash, shapes
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


@dataclass(frozen=True, slots=True)
class _Column:
    """The features of a column, and for each example that has any, the places of its features."""

    features: Array
    places: dict[int, list[int]]


def _features(node: NodeContext, inputs: Sequence[Array]) -> tuple[list[_Column], int]:
    """Return the columns, and the size of the batch."""
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
        places: dict[int, list[int]] = {}
        for place, example in enumerate(indices[:, 0].tolist()):
            places.setdefault(example, []).append(place)
        columns.append(_Column(values, places))
        sizes.append(int(shape[0]))
    for value in inputs[3 * count :]:
        if value.ndim != 2:
            raise invalid(
                f"Dense inputs should be a matrix but received shape {shapes.show(value.shape)}"
            )
        of_each: Any = np.arange(value.size).reshape(value.shape).tolist()
        columns.append(_Column(value.reshape(-1), dict(enumerate(of_each))))
        sizes.append(len(value))
    if len(set(sizes)) > 1:
        raise invalid(f"Expected batch sizes that agree, got {sizes}")
    return columns, sizes[0] if sizes else 0


def _cross(node: NodeContext) -> Function:
    is_hashed, buckets = node.attrs["hashed_output"], int(node.attrs["num_buckets"]) or _MOST
    key = node.attrs["hash_key"] & _BITS

    def cross(*inputs: Array) -> tuple[Array, Array, Array]:
        columns, size = _features(node, inputs)
        in_each = [set(column.places) for column in columns]
        examples = sorted(set.intersection(*in_each)) if columns else []
        rows = [[*itertools.product(*(column.places[at] for column in columns))] for at in examples]
        counts = [len(row) for row in rows]
        chosen = np.array([each for row in rows for each in row], np.int64)
        chosen = chosen.reshape(sum(counts), len(columns)).T
        values = _hashed(columns, chosen, key, buckets) if is_hashed else _joined(columns, chosen)
        places = [place for count in counts for place in range(count)]
        indices = np.stack([np.repeat(examples, counts), places], 1).astype(np.int64)
        return indices, values, np.array([size, max(counts, default=0)], np.int64)

    return cross


def _hashed(columns: Sequence[_Column], chosen: Array, key: int, buckets: int) -> Array:
    """Return the fingerprint of each combination of features, modulo `buckets`.

    `chosen` has for each column the places of the features (FingerprintCat64 of core/platform).
    """
    result = np.full(chosen.shape[1], key, np.uint64)
    for column, places in zip(columns, chosen, strict=True):
        second = _shifted(_numbers(column.features)[places] * _MULTIPLIER) * _MULTIPLIER
        result = (result ^ _MULTIPLIER ^ second) * _MULTIPLIER
        result = _shifted(_shifted(result) * _MULTIPLIER)
    return (result % buckets).astype(np.int64)


def _numbers(features: Array) -> Array:
    """Return strings as fingerprints, and integers as their bits."""
    if features.dtype.hasobject:
        words: list[bytes] = features.tolist()
        return farmhash.farm64_of_each(words)
    numbers: Array = features.astype(np.int64).view(np.uint64)
    return numbers


def _joined(columns: Sequence[_Column], chosen: Array) -> Array:
    texts = [
        [_text(column.features[place]) for place in places.tolist()]
        for column, places in zip(columns, chosen, strict=True)
    ]
    crossed = [b"_X_".join(each) for each in zip(*texts, strict=True)]
    return arrays.strings(crossed, (len(crossed),))


def _text(feature: Any) -> bytes:
    return feature if isinstance(feature, bytes) else str(feature).encode()


def _shifted(value: Array) -> Array:
    mixed: Array = value ^ (value >> 47)
    return mixed


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
register(Kernel("SparseCross", _cross))
register(Kernel("SparseReshape", constantly(_reshape)))
