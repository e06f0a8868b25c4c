"""Conditional accumulators: gradients are summed until enough of them have arrived.

A gradient that was computed before the accumulator's step is dropped
(core/kernels/conditional_accumulator_base.h).
"""

import abc
import logging
from collections.abc import Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name, shapes
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


def _check_required(required: int) -> None:
    if required <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"Argument num_required must be positive, but was {required}"
        )
