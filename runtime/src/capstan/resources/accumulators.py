"""The two kinds of conditional accumulators. They differ in the sum that they hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.resources import accumulator


class DenseAccumulator(accumulator.Accumulator):
    """The sum of arrays (`ConditionalAccumulator`)."""

    _sum: Array | None = None

    def add(self, *gradient: Any) -> None:
        (value,) = gradient
        if self.count and self._sum is not None and self._sum.shape != value.shape:
            raise _mismatch(self._sum.shape, value.shape)
        if not shapes.is_compatible(self.shape_of_gradients, value.shape):
            raise _mismatch(self.shape_of_gradients, value.shape)
        if self.count and self._sum is not None:
            np.add(self._sum, value, self._sum)
        else:
            self._sum = np.array(value)

    def state(self) -> Array | None:
        taken, self._sum = self._sum, None
        return taken

    def restore(self, state: Array) -> None:
        self._sum = state if self._sum is None else self._sum + state

    def result(self, state: Array, count: int) -> Sequence[Any]:
        if self.reduction != "MEAN":
            return (state,)
        return (np.divide(state, state.dtype.type(count)),)


Rows = tuple[Array, Array, Array]
"""Indices, sorted or not, the row of each index, and the number of gradients that had this row."""


class SparseAccumulator(accumulator.Accumulator):
    """The sum of rows by index (`SparseConditionalAccumulator`).

    The mean of a row is over the gradients that have this row.
    """

    _rows: Rows | None = None

    def add(self, *gradient: Any) -> None:
        indices, values, shape = gradient
        self._check(indices, values, shape)
        added = indices.copy(), values.copy(), np.ones(len(indices), np.int64)
        self._rows = added if self._rows is None or not self.count else _merged(self._rows, added)

    def state(self) -> Rows | None:
        taken, self._rows = self._rows, None
        return taken

    def restore(self, state: Rows) -> None:
        self._rows = state if self._rows is None else _merged(state, self._rows)

    def result(self, state: Rows, count: int) -> Sequence[Any]:
        indices, values, counts = state
        if self.reduction == "MEAN":
            divisors = counts.astype(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
            values = values / divisors
        known = self.shape_of_gradients
        first = -1 if not known or known[0] is None else known[0]
        return indices, values, np.array([first, *values.shape[1:]], np.int64)

    def _check(self, indices: Array, values: Array, shape: Array | None) -> None:
        if indices.ndim != 1:
            raise _invalid(
                f"Input indices should be vector but received shape: {shapes.show(indices.shape)}"
            )
        if not values.ndim:
            raise _invalid("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise _invalid(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        known = self.shape_of_gradients or ()
        if shape is not None:
            _check_dense_shape(known, shape)
        if known and known[0] is not None:
            for position in np.flatnonzero(indices >= known[0])[:1].tolist():
                raise _invalid(
                    f"Shape mismatch: index of slice {position} exceeded limits of shape; index is "
                    f"{indices[position]} exceeded {known[0]}"
                )
        if self.count and self._rows is not None:
            _check_like(self._rows[1].shape, values.shape)
        else:
            _check_rows(known, values.shape)


def _check_dense_shape(known: Sequence[int | None], shape: Array) -> None:
    given = shape.ravel().tolist()
    if len(known) > len(given):
        raise _invalid(
            f"Shape mismatch: expected shape rank at least {len(known)}, got {len(given)}"
        )
    for axis, size in enumerate(known):
        if size is not None and size != given[axis]:
            raise _invalid(
                f"Shape mismatch: expected shape dim {axis} to be {size}, got {given[axis]}"
            )


def _check_like(held: Sequence[int], given: Sequence[int]) -> None:
    if len(held) != len(given):
        raise _invalid(f"Shape mismatch: expected values rank {len(held)}, got {len(given)}")
    _check_axes(held, given)


def _check_rows(known: Sequence[int | None], given: Sequence[int]) -> None:
    if len(known) > len(given):
        raise _invalid(
            f"Shape mismatch: expected values rank at least {len(known)}, got {len(given)}"
        )
    _check_axes(known, given)


def _check_axes(known: Sequence[int | None], given: Sequence[int]) -> None:
    for axis in range(1, len(known)):
        if known[axis] is not None and known[axis] != given[axis]:
            raise _invalid(
                f"Shape mismatch: expected values dim {axis} to be {known[axis]}, got {given[axis]}"
            )


def _merged(held: Rows, added: Rows) -> Rows:
    """Add rows with equal indices. Both sides are merged as if their indices were sorted."""
    places, sources = [], []
    i = j = 0
    while i < len(held[0]) and j < len(added[0]):
        first, second = held[0][i], added[0][j]
        places.append((i if first <= second else -1, j if second <= first else -1))
        i, j = i + (first <= second), j + (second <= first)
    places += [(index, -1) for index in range(i, len(held[0]))]
    places += [(-1, index) for index in range(j, len(added[0]))]
    sources = [(held, mine) if mine >= 0 else (added, other) for mine, other in places]
    indices = np.array([side[0][index] for side, index in sources], np.int64)
    values = np.empty((len(places), *added[1].shape[1:]), added[1].dtype)
    counts = np.zeros(len(places), np.int64)
    for row, (mine, other) in enumerate(places):
        values[row] = 0
        for side, index in ((held, mine), (added, other)):
            if index >= 0:
                values[row] += side[1][index]
                counts[row] += side[2][index]
    return indices, values, counts


def _mismatch(expected: shapes.Shape, given: shapes.Shape) -> errors.OpError:
    return _invalid(f"Shape mismatch: expected {shapes.show(expected)}, got {shapes.show(given)}")


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
