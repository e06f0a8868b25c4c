"""Hands the rows of a batch back to the calls that it joined, and joins their gradients.

A batch is that of `batcher.collect`: the last of its calls got all rows, and an index of the rows
by the number of the call. Source: core/kernels/batch_kernels.cc.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from capstan import errors
from capstan.core import cancellation, resource_name
from capstan.core.arrays import Array
from capstan.resources import alarms, resource, waiters


class Unbatcher(resource.Resource):
    """Gives each call its rows of the result of a batch. Thread-safe. No method blocks.

    A call, or rows, that wait longer than `timeout_s` seconds for each other are given up.
    """

    def __init__(
        self, name: resource_name.ResourceName, timeout_s: float, clock: alarms.Alarms
    ) -> None:
        super().__init__(name)
        self._timeout_s, self._clock = timeout_s, clock
        self._lock = threading.Lock()
        # All wait equally long, so the first one of a dictionary has waited longest.
        self._pieces: dict[int, tuple[float, Array]] = {}
        self._calls: dict[int, tuple[float, waiters.Done]] = {}
        self._has_alarm = False
        self._abandoned: errors.OpError | None = None

    def hand_out(
        self,
        pieces: Mapping[int, Array],
        number: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Answer call `number` with its rows, as soon as they are there.

        `pieces` are the rows of each call of a batch, or empty if another call brings them.

        Raises:
            AlreadyExistsError: another call has this number, or brought rows of the same call.
        """
        answers: list[tuple[waiters.Done, Array]] = []
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            if number in self._calls:
                raise _exists("Multiple session runs with the same batch key.")
            due = self._clock.now() + self._timeout_s
            present = self._pieces.pop(number, None)
            if present is not None:
                pieces = {}
                answers.append((done, present[1]))
            elif not self._pieces.keys().isdisjoint(pieces):
                raise _exists("Multiple tensors returned for same batch key.")
            else:
                self._calls[number] = due, done
            for other, piece in pieces.items():
                if (waiting := self._calls.pop(other, None)) is not None:
                    answers.append((waiting[1], piece))
                else:
                    self._pieces[other] = due, piece
            self._set_alarm()
        cancelled.register(lambda error: self._withdraw(number, error))
        for answer, piece in answers:
            answer([piece], None)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            calls = [done for _, done in self._calls.values()]
            self._calls.clear()
            self._pieces.clear()
        for done in calls:
            done((), error)

    def _withdraw(self, number: int, error: errors.OpError) -> None:
        with self._lock:
            found = self._calls.pop(number, None)
        if found is not None:
            found[1]((), error)

    def _set_alarm(self) -> None:
        """Let `_expire` run when the first call or piece has waited too long. Holds the lock."""
        waiting: list[Mapping[int, tuple[float, object]]] = [self._pieces, self._calls]
        dues = [next(iter(each.values()))[0] for each in waiting if each]
        if dues and not self._has_alarm:
            self._has_alarm = True
            self._clock.call_at(min(dues), self._expire)

    def _expire(self) -> None:
        with self._lock:
            now = self._clock.now()
            for number in [key for key, (due, _) in self._pieces.items() if due <= now]:
                del self._pieces[number]
            late = [key for key, (due, _) in self._calls.items() if due <= now]
            calls = [self._calls.pop(number)[1] for number in late]
            self._has_alarm = False
            self._set_alarm()
        for done in calls:
            message = "Batched data did not arrive within timeout window."
            done((), errors.DeadlineExceededError(None, None, message))


@dataclass(slots=True)
class _Batch:
    """A batch whose gradients are not all there. `wanted` are the numbers of its calls."""

    wanted: Sequence[int]
    done: waiters.Done
    found: dict[int, Array] = field(default_factory=dict)


class Rebatcher(resource.Resource):
    """Joins the gradients of the calls of a batch. Thread-safe. No method blocks."""

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._grads: dict[int, Array] = {}
        self._batches: dict[int, _Batch] = {}
        self._abandoned: errors.OpError | None = None

    def collect(
        self,
        wanted: Sequence[int] | None,
        grad: Array,
        number: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Keep the gradient of call `number` for its batch.

        If `wanted` has the numbers of the calls of a batch, call `done` with their joined gradients
        when all are there. Otherwise call it at once, with a gradient without rows.

        Raises:
            InvalidArgumentError: there is a gradient of this call already.
        """
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            if number in self._grads:
                raise errors.InvalidArgumentError(None, None, "Two runs with the same batch key.")
            self._grads[number] = grad
            if wanted is not None:
                self._batches[number] = _Batch(wanted, done)
            complete = self._take_complete()
        if wanted is None:
            done([np.zeros((0, *grad.shape[1:]), grad.dtype)], None)
        else:
            cancelled.register(lambda error: self._withdraw(number, error))
        for batch in complete:
            _join(batch)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            batches = list(self._batches.values())
            self._batches.clear()
            self._grads.clear()
        for batch in batches:
            batch.done((), error)

    def _withdraw(self, number: int, error: errors.OpError) -> None:
        with self._lock:
            batch = self._batches.pop(number, None)
            for other in batch.wanted if batch is not None else ():
                self._grads.pop(other, None)
        if batch is not None:
            batch.done((), error)

    def _take_complete(self) -> list[_Batch]:
        """Remove and return the batches whose gradients are all there."""
        complete = [
            number
            for number, batch in self._batches.items()
            if all(each in self._grads for each in batch.wanted)
        ]
        batches = [self._batches.pop(number) for number in complete]
        for batch in batches:
            batch.found = {each: self._grads.pop(each) for each in batch.wanted}
        return batches


def _join(batch: _Batch) -> None:
    try:
        joined = np.concatenate(list(batch.found.values()))
    except ValueError as fault:
        batch.done((), errors.InvalidArgumentError(None, None, str(fault)))
    else:
        batch.done([joined], None)


def _exists(message: str) -> errors.AlreadyExistsError:
    return errors.AlreadyExistsError(None, None, message)
