"""Kernels of crosses of features (core/kernels/{sparse_cross,ragged_cross}_op.cc)."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan.core import arrays, farmhash, shapes, siphash
from capstan.core.arrays import Array
from capstan.kernels import ragged
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number, string

_BITS: Final = 2**64 - 1
_MULTIPLIER: Final = 0xC6A4A7935BD1E995
_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Column:
    """The features of a column, and for each example that has any, the places of its features."""

    features: Array
    places: dict[int, list[int]]


Numbers = Callable[[Array], Array]
"""Returns features as uint64."""


def _features(count: int, inputs: Sequence[Array]) -> tuple[list[_Column], int]:
    """Return the columns, and the size of the batch."""
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


@dataclass(frozen=True, slots=True)
class _Crosses:
    """The combinations of the features of each example.

    `examples` are those that have a combination, and `counts` how many each has. `chosen` has for
    each column the places of the features.
    """

    columns: Sequence[_Column]
    examples: list[int]
    counts: list[int]
    chosen: Array

    @classmethod
    def of(cls, columns: Sequence[_Column]) -> "_Crosses":
        in_each = [set(column.places) for column in columns]
        examples = sorted(set.intersection(*in_each)) if columns else []
        rows = [[*itertools.product(*(column.places[at] for column in columns))] for at in examples]
        counts = [len(row) for row in rows]
        chosen = np.array([each for row in rows for each in row], np.int64)
        return cls(columns, examples, counts, chosen.reshape(sum(counts), len(columns)).T)

    def sparse(self, values: Array, size: int) -> tuple[Array, Array, Array]:
        """Return the values as the parts of a sparse tensor. `size` is that of the batch."""
        places = [place for count in self.counts for place in range(count)]
        indices = np.stack([np.repeat(self.examples, self.counts), places], 1).astype(np.int64)
        return indices, values, np.array([size, max(self.counts, default=0)], np.int64)

    def hashed(self, key: int, buckets: int) -> Array:
        """Return the fingerprint of each combination, modulo `buckets`."""
        start = np.full(self.chosen.shape[1], key, np.uint64)
        for part in self._parts(_numbers):
            start = _concatenated(start, part)
        return (start % buckets).astype(np.int64)

    def keyed(self, numbers: Numbers, buckets: int) -> Array:
        """Return the fingerprint of each combination without a first key, modulo `buckets`."""
        result, *parts = self._parts(numbers)
        for part in parts:
            result = _concatenated(result, part)
        return (result % buckets).astype(np.int64)

    def _parts(self, numbers: Numbers) -> Iterator[Array]:
        for column, places in zip(self.columns, self.chosen, strict=True):
            yield numbers(column.features)[places]

    def joined(self, separator: bytes) -> Array:
        """Return the features of each combination as one string."""
        texts = [
            [_text(column.features[place]) for place in places.tolist()]
            for column, places in zip(self.columns, self.chosen, strict=True)
        ]
        crossed = [separator.join(each) for each in zip(*texts, strict=True)]
        return arrays.strings(crossed, (len(crossed),))


def _concatenated(first: Array, second: Array) -> Array:
    """Return the fingerprints of two (FingerprintCat64 of core/platform)."""
    second = _shifted(second * _MULTIPLIER) * _MULTIPLIER
    result = (first ^ _MULTIPLIER ^ second) * _MULTIPLIER
    return _shifted(_shifted(result) * _MULTIPLIER)


def _numbers(features: Array) -> Array:
    """Return strings as fingerprints, and integers as their bits."""
    if features.dtype.hasobject:
        words: list[bytes] = features.tolist()
        return farmhash.farm64_of_each(words)
    numbers: Array = features.astype(np.int64).view(np.uint64)
    return numbers


def _bytes(numbers: Array) -> list[bytes]:
    """Return the bytes of each integer that TensorFlow hashes: the lower four."""
    return [number.tobytes()[:4] for number in numbers.astype("<i8")]


def _shifted(value: Array) -> Array:
    mixed: Array = value ^ (value >> 47)
    return mixed


def _text(feature: Any) -> bytes:
    return feature if isinstance(feature, bytes) else str(feature).encode()


def _cross(node: NodeContext) -> Function:
    is_hashed, buckets = node.attrs["hashed_output"], int(node.attrs["num_buckets"]) or _MOST
    key, count = node.attrs["hash_key"] & _BITS, int(node.attrs["N"])

    def cross(*inputs: Array) -> tuple[Array, Array, Array]:
        columns, size = _features(count, inputs)
        crosses = _Crosses.of(columns)
        values = crosses.hashed(key, buckets) if is_hashed else crosses.joined(b"_X_")
        return crosses.sparse(values, size)

    return cross


def _cross_strings(node: NodeContext) -> Function:
    count = int(node.attrs["N"])

    def cross(*inputs: Array) -> tuple[Array, Array, Array]:
        columns, size = _features(count, inputs[:-1])
        crosses = _Crosses.of(columns)
        return crosses.sparse(crosses.joined(string(inputs[-1], "sep")), size)

    return cross


def _cross_hashed(node: NodeContext) -> Function:
    count = int(node.attrs["N"])

    def cross(*inputs: Array) -> tuple[Array, Array, Array]:
        *features, num_buckets, is_strong, salt = inputs
        buckets, keys = number(num_buckets, "num_buckets"), [int(each) & _BITS for each in salt]
        if len(keys) != 2:
            raise invalid(f"salt must be a vector of 2 keys, but has {len(keys)}")

        def hashed(column: Array) -> Array:
            words = column.tolist() if column.dtype.hasobject else _bytes(column)
            if is_strong:
                return siphash.siphash64_of_each(words, keys)
            return farmhash.farm64_of_each(words)

        columns, size = _features(count, features)
        crosses = _Crosses.of(columns)
        if not columns:
            return crosses.sparse(np.zeros(0, np.int64), size)
        values = crosses.keyed(hashed, buckets if buckets > 0 else _MOST)
        return crosses.sparse(values, size)

    return cross


def _ragged_cross(node: NodeContext) -> Function:
    attrs = node.attrs
    is_hashed, buckets = attrs["hashed_output"], int(attrs["num_buckets"]) or _MOST
    key, kind = attrs["hash_key"] & _BITS, attrs["out_row_splits_type"].as_numpy_dtype
    ragged_count, sparse_count = len(attrs["ragged_values_types"]), int(attrs["Nsparse"])
    order = bytes(attrs["input_order"]).decode(errors="replace")

    def cross(*inputs: Array) -> tuple[Array, Array]:
        rows = [
            _ragged_column(*pair)
            for pair in zip(
                inputs[:ragged_count], inputs[ragged_count : 2 * ragged_count], strict=True
            )
        ]
        others, size = _features(sparse_count, inputs[2 * ragged_count :])
        sizes = {count for _, count in rows} | ({size} if others else set())
        if len(sizes) > 1:
            raise invalid(
                f"inputs must all have the same batch dimension size, not {sorted(sizes)}"
            )
        columns = _ordered(
            order,
            R=[column for column, _ in rows],
            S=others[:sparse_count],
            D=others[sparse_count:],
        )
        crosses = _Crosses.of(columns)
        values = crosses.hashed(key, buckets) if is_hashed else crosses.joined(b"_X_")
        lengths = np.zeros(max(sizes, default=0), np.int64)
        lengths[crosses.examples] = crosses.counts
        return values, ragged.ends(lengths, kind)

    return cross


def _ragged_column(values: Array, splits: Array) -> tuple[_Column, int]:
    """Return the rows of a ragged tensor as a column, and how many there are."""
    ends = splits.tolist()
    if not ends or ends[0] or ends != sorted(ends) or ends[-1] != len(values):
        raise invalid("Invalid row splits of a ragged tensor: they must rise from 0 to its size")
    places = {
        row: list(range(start, end))
        for row, (start, end) in enumerate(itertools.pairwise(ends))
        if start < end
    }
    return _Column(values, places), len(ends) - 1


def _ordered(order: str, **columns: Sequence[_Column]) -> list[_Column]:
    """Return the columns of each kind in the order of the inputs."""
    rest = {kind: iter(each) for kind, each in columns.items()}
    counts = {kind: len(each) for kind, each in columns.items()}
    if {kind: order.count(kind) for kind in counts} != counts or len(order) != sum(counts.values()):
        raise invalid(f"input_order {order!r} does not fit {counts} inputs")
    return [next(rest[kind]) for kind in order]


register(Kernel("SparseCross", _cross))
register(Kernel("SparseCrossV2", _cross_strings))
register(Kernel("SparseCrossHashed", _cross_hashed))
register(Kernel("RaggedCross", _ragged_cross))
