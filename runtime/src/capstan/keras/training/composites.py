"""The values of sparse and ragged inputs: batches of their rows, and the rows of several batches
(python/keras/utils/composite_tensor_utils.py).

A SparseTensorValue, a RaggedTensorValue and a matrix of SciPy are data of an input. The first axis
counts the examples, as that of an array.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api.ragged import value as ragged
from capstan.framework import sparse_tensor

Array = np.ndarray[Any, Any]
_Sparse: type[Any] = sparse_tensor.SparseTensorValue
_Ragged: type[Any] = ragged.RaggedTensorValue


def is_composite(value: Any) -> bool:
    """Return whether a value is sparse or ragged."""
    return isinstance(value, _Sparse | _Ragged)


def as_data(value: Any, *, is_sparse: bool) -> Any:
    """Return the data of an input as an array, or as a sparse or ragged value.

    A matrix of SciPy becomes sparse for a sparse input, and otherwise an array.
    """
    if is_composite(value):
        return value
    if not hasattr(value, "toarray"):
        return np.asarray(value)
    if not is_sparse:
        return value.toarray()
    matrix = value.tocsr().sorted_indices().tocoo()
    places = np.stack([matrix.row, matrix.col], 1).astype(np.int64)
    return _Sparse(places, matrix.data, np.array(matrix.shape, np.int64))


def size(value: Any) -> int | None:
    """Return the number of examples, None for a number."""
    if isinstance(value, _Sparse):
        return int(np.asarray(value.dense_shape)[0])
    if isinstance(value, _Ragged):
        return len(value.row_splits) - 1
    return len(value) if np.ndim(value) else None


def check(name: str, value: Any, shape: Sequence[int | None]) -> None:
    """Check the shape of the data of an input. A vector counts as a column.

    Raises:
        ValueError: the data have another number of axes, or another size than the input.
    """
    found = tuple(np.asarray(value.dense_shape).tolist() if isinstance(value, _Sparse)
                  else value.shape)  # fmt: skip
    if len(found) == 1 and len(shape) != 1:
        found = (*found, 1)
    if not found or len(found) != len(shape):
        raise ValueError(
            f"Error when checking input: expected {name} to have {len(shape)} dimensions, but got "
            f"array with shape {found}"
        )
    pairs = zip(found[1:], shape[1:], strict=True)
    if any(size is not None and size != wanted for size, wanted in pairs if wanted is not None):
        raise ValueError(
            f"Error when checking input: expected {name} to have shape {tuple(shape[1:])} but got "
            f"array with shape {found[1:]}"
        )


def part(value: Any, places: Any) -> Any:
    """Return some examples: a slice, or an array of their numbers."""
    if not is_composite(value):
        return value[places]
    numbers = np.arange(size(value) or 0)[places]
    if isinstance(value, _Ragged):
        return _ragged_rows(value, numbers)
    indices, values = np.asarray(value.indices), np.asarray(value.values)
    firsts = indices[:, 0]
    order = np.argsort(firsts, kind="stable")  # fast, as they usually increase
    starts, ends = (np.searchsorted(firsts[order], numbers, side) for side in ("left", "right"))
    kept = np.concatenate([np.zeros(0, int), *map(order.__getitem__, map(slice, starts, ends))])
    rows = np.repeat(np.arange(len(numbers)), ends - starts)
    shape = np.array([len(numbers), *np.asarray(value.dense_shape)[1:]], np.int64)
    return _Sparse(np.concatenate([rows[:, np.newaxis], indices[kept, 1:]], 1), values[kept], shape)


def _ragged_rows(value: Any, numbers: Array) -> Any:
    starts, ends = value.row_splits[:-1][numbers], value.row_splits[1:][numbers]
    inner = [np.arange(start, end) for start, end in zip(starts, ends, strict=True)]
    kept = np.concatenate([np.zeros(0, np.int64), *inner]).astype(np.int64)
    splits = np.concatenate([[0], np.cumsum(ends - starts)]).astype(value.row_splits.dtype)
    deep = isinstance(value.values, _Ragged)
    return _Ragged(_ragged_rows(value.values, kept) if deep else value.values[kept], splits)


def joined(values: Sequence[Any]) -> Any:
    """Return the examples of several batches."""
    first = values[0]
    if isinstance(first, _Ragged):
        inner = joined([each.values for each in values])
        lengths = [np.diff(each.row_splits) for each in values]
        splits = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return _Ragged(inner, splits.astype(first.row_splits.dtype))
    if not isinstance(first, _Sparse):
        return np.concatenate(values)
    counts = [each.dense_shape[0] for each in values]
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    moved = [
        each.indices + np.array([start, *[0] * (each.indices.shape[1] - 1)])
        for each, start in zip(values, before, strict=True)
    ]
    sizes = np.max([each.dense_shape[1:] for each in values], 0)
    shape = np.array([sum(counts), *sizes], np.int64)
    return _Sparse(np.concatenate(moved), np.concatenate([each.values for each in values]), shape)
