"""The elements of queues and staging areas: tuples of arrays that nothing else changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array

Element = tuple[Any, ...]
"""One value per component: an array or a NumPy scalar."""

Batch = tuple[Array, ...]
"""One array per component. The slices along axis 0 are the values of the elements."""


def owned(value: Any) -> Any:
    """Return a copy of an array. NumPy scalars are immutable and are returned as they are."""
    return value.copy() if isinstance(value, np.ndarray) else value


def freeze(element: Sequence[Any]) -> None:
    """Make the arrays of an element read-only, so that several readers may share them."""
    for value in element:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def writeable(element: Sequence[Any]) -> Element:
    """Return the element with a copy of each array that is read-only."""
    return tuple(
        [
            value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value
            for value in element
        ]
    )


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


def alone(element: Sequence[Any]) -> Batch:
    """Return a batch that holds a copy of one element."""
    return tuple([value[np.newaxis].copy() for value in element])


def first(batch: Batch) -> Element:
    """Return the first element of a batch. Its arrays share the memory of the batch."""
    return tuple([column[0, ...] for column in batch])


def part(batch: Batch, start: int, stop: int | None = None) -> Batch:
    """Return a range of the elements of a batch. The arrays share the memory of the batch."""
    return tuple([column[start:stop] for column in batch])


def singles(batch: Batch) -> list[Batch]:
    """Return a batch with a copy of each element of a batch.

    The elements may leave a queue at very different times. A slice that shares the memory of its
    batch would keep the whole batch.
    """
    count = len(batch[0])
    return [tuple([column[index : index + 1].copy() for column in batch]) for index in range(count)]


def join(columns: Sequence[Array], dtype: dtypes.DType, shape: Sequence[int]) -> Array:
    """Return the slices of arrays along axis 0 as one array. Each slice has `shape`.

    A single array is returned as it is.
    """
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns) if columns else np.empty((0, *shape), dtype.as_numpy_dtype)


def pad(columns: Sequence[Array], dtype: dtypes.DType, shape: Sequence[int | None]) -> Array:
    """Return the slices as `join` does. An unknown axis gets the largest size of the slices.

    The places beside a smaller slice are zeros, or empty strings.
    """
    sizes = [
        max((column.shape[1 + axis] for column in columns), default=0) if size is None else size
        for axis, size in enumerate(shape)
    ]
    batch = np.zeros((sum(map(len, columns)), *sizes), dtype.as_numpy_dtype)
    if dtype is dtypes.string:
        batch.fill(b"")
    at = 0
    for column in columns:
        place: tuple[Any, ...] = (slice(at, at + len(column)), *map(slice, column.shape[1:]))
        batch[place] = column
        at += len(column)
    return batch


def size_in_bytes(element: Sequence[Any]) -> int:
    """Return the memory of an element. A string counts as its bytes and a header of 24 bytes.

    A variant or a handle counts as a header alone.
    """
    total = 0
    for value in element:
        # The arrays of a device know their size too, and NumPy cannot read them.
        array = value if hasattr(value, "nbytes") else np.asarray(value)
        if array.dtype == object:
            total += sum(
                24 + (len(value) if isinstance(value, bytes) else 0)
                for value in array.ravel().tolist()
            )
        else:
            total += array.nbytes
    return total
