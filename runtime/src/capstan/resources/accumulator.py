"""Conditional accumulators: gradients are summed until enough of them have arrived.

A gradient that was computed before the accumulator's step is dropped
(core/kernels/conditional_accumulator_base.h).
"""

import abc
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name, shapes
from capstan.core.arrays import Array
from capstan.resources import alarms, waiters


class Accumulator(waiters.Waited, abc.ABC):
    """A sum of gradients, and the operations that wait for it. Subclasses hold the sum.

    `reduction` is `MEAN` or `SUM`. Thread-safe. No method blocks.
    """

    def __init__(
        self,
        name: resource_name.ResourceName,
        dtype: dtypes.DType,
        shape: shapes.Shape,
        reduction: str,
    ) -> None:
        super().__init__(name)
        self.dtype_of_gradients = dtype
        self.shape_of_gradients = shape
        self.reduction = reduction
        self.count = 0
        self.step = 0
        self.settings = 0
        """How often `step` was set."""
        self._alarm: float | None = None

    def set_global_step(self, step: int) -> None:
        """From now on, drop gradients that were computed before `step`."""
        with self._lock:
            if step < self.step:
                logging.getLogger("capstan").warning(
                    "Attempt to set current_global_step_ to smaller value: current_global_step_ = "
                    "%d >= %d = new_global_step.",
                    self.step,
                    step,
                )
            self.step = step
            self.settings += 1

    def apply(self, local_step: int, *gradient: Any) -> None:
        """Add a gradient that was computed at `local_step`. Drop it if `local_step` is too old.

        Raises:
            InvalidArgumentError: the gradient does not fit the accumulator.
        """
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            if local_step < self.step:
                return
            self.add(*gradient)
            self.count += 1
            complete = self._advance()
        self._answer(complete)

    def take(self, required: int, done: waiters.Done, cancelled: cancellation.Cancellation) -> None:
        """Take the mean or the sum once `required` gradients have arrived.

        Raises:
            InvalidArgumentError: `required` is not positive.
        """
        _check_required(required)
        self.submit(_Take(self, required, done, cancelled))

    def take_up_to(
        self,
        required: int,
        limit: float,
        clock: alarms.Alarms,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Take the mean or the sum of up to `required` gradients.

        The operation waits until `required` gradients have arrived, or until it has waited for
        `limit` seconds while there was at least one.

        Raises:
            InvalidArgumentError: `required` is not positive.
        """
        _check_required(required)
        self.submit(_TakeUpTo(self, required, limit, clock, done, cancelled))

    def wake_at(self, due: float, clock: alarms.Alarms) -> None:
        """Try the waiting operations again at `due`. Called under the lock.

        An operation that is tried before its time calls this method again, so one pending alarm is
        enough for all operations.
        """
        if self._alarm is None or due < self._alarm:
            self._alarm = due
            clock.call_at(due, self._wake)

    def _wake(self) -> None:
        with self._lock:
            self._alarm = None
            complete = self._advance()
        self._answer(complete)

    # --- the sum. All methods are called under the lock.

    @abc.abstractmethod
    def add(self, *gradient: Any) -> None:
        """Check a gradient, and add it to the sum."""

    @abc.abstractmethod
    def state(self) -> Any:
        """Remove the sum and return it. Nothing changes the returned sum later."""

    @abc.abstractmethod
    def restore(self, state: Any) -> None:
        """Put back a sum that `state` returned. Add it to the present sum, if there is one."""

    @abc.abstractmethod
    def result(self, state: Any, count: int) -> Sequence[Any]:
        """Return the outputs for a sum of `count` gradients. Called without the lock."""


class _Take(waiters.Attempt):
    """An operation that takes the mean or the sum of enough gradients."""

    def __init__(
        self,
        target: Accumulator,
        required: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._target = target
        self._required = required
        self._state: Any = None
        self._count = 0
        self._settings = 0

    def advance(self) -> waiters.Progress:
        target = self._target
        if target.count < self._required:
            return waiters.Progress.NONE
        self._state, self._count = target.state(), target.count
        self._settings = target.settings
        target.count = 0
        target.step += 1
        return waiters.Progress.COMPLETE

    def undo(self) -> None:
        if self._count:
            self._target.restore(self._state)
            self._target.count += self._count
            # Keep a step that was set after the take. It decides which gradients are too old.
            self._target.step -= self._target.settings == self._settings
            self._count = 0

    def outputs(self) -> Sequence[Any]:
        return self._target.result(self._state, self._count)


class _TakeUpTo(_Take):
    """An operation that takes fewer gradients if the rest of them do not arrive in time."""

    def __init__(
        self,
        target: Accumulator,
        required: int,
        limit: float,
        clock: alarms.Alarms,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(target, required, done, cancelled)
        self._limit = limit
        self._clock = clock
        self._due: float | None = None

    def advance(self) -> waiters.Progress:
        if 0 < self._target.count < self._required:
            now = self._clock.now()
            if self._due is None:
                self._due = now + self._limit
            if now < self._due:
                self._target.wake_at(self._due, self._clock)
                return waiters.Progress.NONE
            self._required = self._target.count
        return super().advance()


class DenseAccumulator(Accumulator):
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


class SparseAccumulator(Accumulator):
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


def _check_required(required: int) -> None:
    if required <= 0:
        raise _invalid(f"Argument num_required must be positive, but was {required}")


def _mismatch(expected: shapes.Shape, given: shapes.Shape) -> errors.OpError:
    return _invalid(f"Shape mismatch: expected {shapes.show(expected)}, got {shapes.show(given)}")


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
