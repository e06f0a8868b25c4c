"""Kernels that count integers, for all elements or for each row.

Sources: core/kernels/{bincount_op,count_ops}.cc.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


@dataclasses.dataclass(frozen=True, slots=True)
class _Values:
    """Integers, and the row of each of them. `count` is the number of rows, if there are rows."""

    numbers: Array
    rows: Array | int
    count: int | None


Reader = Callable[..., _Values]


def _of_dense(values: Array) -> _Values:
    if values.ndim > 2:
        raise invalid(f"Shape must be at most rank 2, but got {show(values.shape)}")
    if values.ndim < 2:
        return _Values(values.reshape(-1), 0, None)
    count, length = values.shape
    return _Values(values.reshape(-1), np.repeat(np.arange(count), length), count)


def _of_sparse(indices: Array, values: Array, sizes: Array) -> _Values:
    if indices.ndim != 2 or values.ndim != 1 or sizes.ndim != 1:
        raise invalid(
            "Input indices must be a 2-dimensional tensor, and values and dense_shape vectors. "
            f"Got: {show(indices.shape)}, {show(values.shape)}, {show(sizes.shape)}"
        )
    if indices.shape != (len(values), len(sizes)) or len(sizes) not in (1, 2):
        raise invalid(
            "Number of values must match first dimension of indices, and dense_shape must have "
            f"1 or 2 sizes. Got {len(values)} values, indices shape: {show(indices.shape)}, "
            f"{len(sizes)} sizes"
        )
    if ((indices < 0) | (indices >= sizes)).any():
        raise invalid(f"Invalid index value: indices must be in dense_shape {sizes.tolist()}")
    if len(sizes) == 1:
        return _Values(values, 0, None)
    return _Values(values, indices[:, 0], int(sizes[0]))


def _of_ragged(splits: Array, values: Array) -> _Values:
    if splits.ndim != 1 or len(splits) < 1:
        raise invalid(f"Splits must be a vector with an element, got shape {show(splits.shape)}")
    if splits[0] != 0:
        raise invalid(f"Splits must start with 0, not with {splits[0]}")
    if splits[-1] != values.size:
        raise invalid(
            f"Splits must end with the number of values, got {splits[-1]} instead of {values.size}"
        )
    lengths = np.diff(splits)
    if (lengths < 0).any():
        raise invalid("Splits must not decrease")
    return _Values(values, np.repeat(np.arange(len(lengths)), lengths), len(lengths))


def _bins(reader: Reader, arguments: int) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype: Any = np.dtype(node.output_dtypes[0].as_numpy_dtype)
        is_binary = bool(node.attrs["binary_output"])

        def count(*inputs: Array) -> Array:
            values, size, weights = reader(*inputs[:arguments]), inputs[-2], inputs[-1]
            bins, numbers = number(size, "size"), values.numbers
            if bins < 0:
                raise invalid(f"size ({bins}) must be non-negative")
            if numbers.size and numbers.min() < 0:
                raise invalid("Input arr must be non-negative!")
            _check_weights(weights, numbers)
            kept = np.flatnonzero(numbers < bins)
            row = values.rows if isinstance(values.rows, int) else values.rows[kept]
            places = numbers[kept] + row * bins
            total = bins * (1 if values.count is None else values.count)
            given = weights.reshape(-1)[kept] if weights.size else None
            found = _sums(places, total, given, is_binary, dtype)
            return found if values.count is None else found.reshape(values.count, bins)

        return count

    return make


def _check_weights(weights: Array, numbers: Array) -> None:
    if weights.size not in (0, numbers.size):
        raise invalid(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
            f"acts as all weights equal to 1. Received {show(weights.shape)}"
        )


def _sums(
    places: Array, total: int, weights: Array | None, is_binary: bool, dtype: np.dtype[Any]
) -> Array:
    """Return how often each place up to `total` occurs, or the sum of its weights."""
    if is_binary:
        found = np.zeros(total, dtype)
        found[places] = 1
        return found
    if weights is None:
        return np.bincount(places, minlength=total).astype(dtype)
    if dtype.kind == "f":
        return np.bincount(places, weights, total).astype(dtype)
    found = np.zeros(total, dtype)
    np.add.at(found, places, weights)
    return found


def _listed(reader: Reader) -> Callable[[NodeContext], Function]:
    """Return a kernel that lists the integers that occur, as a sparse tensor."""

    def make(node: NodeContext) -> Function:
        dtype: Any = np.dtype(node.output_dtypes[1].as_numpy_dtype)
        least, most = (int(node.attrs[name]) for name in ("minlength", "maxlength"))
        is_binary = bool(node.attrs["binary_output"])

        def count(*inputs: Array) -> tuple[Array, Array, Array]:
            values, weights = reader(*inputs[:-1]), inputs[-1]
            _check_weights(weights, values.numbers)
            is_kept = values.numbers >= 0
            if most >= 0:
                is_kept &= values.numbers < most
            numbers = values.numbers[is_kept].astype(np.int64)
            row = values.rows if isinstance(values.rows, int) else values.rows[is_kept]
            # The ranks of numbers are small. A number with its row might not fit in an integer.
            different, ranks = np.unique(numbers, return_inverse=True)
            span = len(different)
            keys, places = np.unique(ranks + row * span, return_inverse=True)
            given = weights.reshape(-1)[is_kept] if weights.size else None
            sums = _sums(places, len(keys), given, is_binary, dtype)
            width = most if most >= 0 else max(int(different[-1]) + 1 if span else 1, least)
            found = different[keys % span] if span else different
            if values.count is None:
                return found[:, None], sums, np.array([width], np.int64)
            indices = np.stack([keys // max(span, 1), found], 1)
            return indices, sums, np.array([values.count, width], np.int64)

        return count

    return make


for _layout, _reader, _count in (
    ("Dense", _of_dense, 1),
    ("Sparse", _of_sparse, 3),
    ("Ragged", _of_ragged, 2),
):
    register(Kernel(f"{_layout}Bincount", _bins(_reader, _count)))
    register(Kernel(f"{_layout}CountSparseOutput", _listed(_reader)))
