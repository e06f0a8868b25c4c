"""The elements of queues and staging areas: tuples of arrays that nothing else changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array

Element = tuple[Any, ...]
"""One value per component: an array or a NumPy scalar."""


def owned(value: Any) -> Any:
    """Return a copy of an array. NumPy scalars are immutable and are returned as they are."""
    return value.copy() if isinstance(value, np.ndarray) else value


def rows(batch: Array) -> list[Any]:
    """Return the slices of `batch` along axis 0. The slices share the memory of `batch`."""
    if batch.dtype == object and batch.ndim == 1:
        return [scalar(value) for value in batch.tolist()]
    return list(batch)


def scalar(value: Any) -> Array:
    """Return a Python object, such as a string, as an array without axes."""
    array = np.empty((), object)
    array[()] = value
    return array


def stack(column: Sequence[Any], dtype: dtypes.DType, shape: Sequence[int]) -> Array:
    """Return a new array whose slices along axis 0 are the values, which all have `shape`."""
    kind = dtype.as_numpy_dtype
    batch = np.empty((len(column), *shape), kind)
    if not batch.size:
        return batch
    if shape:
        np.concatenate(column, out=batch.reshape(-1, *shape[1:]))
    elif kind is object:
        for index, value in enumerate(column):
            batch[index] = value.item()
    else:
        batch[:] = column
    return batch


def pad(column: Sequence[Any], dtype: dtypes.DType, shape: Sequence[int | None]) -> Array:
    """Return the values as `stack` does. An unknown axis gets the largest size of the values.

    The places beside a smaller value are zeros, or empty strings.
    """
    sizes = [
        max((value.shape[axis] for value in column), default=0) if size is None else size
        for axis, size in enumerate(shape)
    ]
    batch = np.zeros((len(column), *sizes), dtype.as_numpy_dtype)
    if dtype is dtypes.string:
        batch.fill(b"")
    for index, value in enumerate(column):
        place: tuple[Any, ...] = (index, *map(slice, value.shape))
        batch[place] = value
    return batch


def size_in_bytes(element: Sequence[Any]) -> int:
    """Return the memory of an element. A string counts as its bytes and a header of 24 bytes."""
    total = 0
    for value in element:
        array = np.asarray(value)
        if array.dtype == object:
            total += sum(24 + len(text) for text in array.ravel().tolist())
        else:
            total += array.nbytes
    return total
