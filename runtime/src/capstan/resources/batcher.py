"""Calls that several steps make at once, joined along axis 0.

Source: core/kernels/batch_kernels.cc, core/kernels/batching_util/shared_batch_scheduler.h.
"""

import contextvars
import itertools
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, resource_name
from capstan.core.arrays import Array
from capstan.resources import alarms, resource, waiters

Finish = Callable[[Sequence["Task"], Sequence[Array]], None]
"""Answers the calls of a batch. Takes their joined arguments, which may be padded with rows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How batches are made. Sizes are numbers of rows.

    A batch begins when it has `size` rows, or `timeout_s` seconds after its first call, as soon as
    one of `threads` threads is free. At most `batches` batches wait. If there are `allowed` sizes,
    the first row of a batch is repeated up to the next one of them.
    """

    threads: int
    size: int
    timeout_s: float
    batches: int
    allowed: tuple[int, ...] = ()

    def padded(self, rows: int) -> int:
        """Return the size to which a batch is padded."""
        return next((size for size in self.allowed if size >= rows), rows)


class Task:
    """One call. It is answered once. The number tells it from other calls."""

    def __init__(
        self, tensors: Sequence[Array], captured: Sequence[Any], done: waiters.Done
    ) -> None:
        self.tensors, self.captured, self._done = tensors, captured, done
        self.rows = len(tensors[0])
        self.number = random.getrandbits(63)
        self._is_answered = threading.Lock()

    def answer(self, outputs: Sequence[Array], error: errors.OpError | None) -> None:
        if self._is_answered.acquire(blocking=False):
            self._done(outputs, error)


class Batcher(resource.Resource):
    """Joins calls to batches, and finishes batches in threads. Thread-safe. No method blocks."""

    def __init__(
        self, name: resource_name.ResourceName, limits: Limits, finish: Finish, clock: alarms.Alarms
    ) -> None:
        super().__init__(name)
        self._limits, self._finish, self._clock = limits, finish, clock
        self._lock = threading.Lock()
        self._batches: deque[list[Task]] = deque([[]])
        self._due = 0.0
        self._running = 0
        self._abandoned: errors.OpError | None = None

    def add(self, task: Task, cancelled: cancellation.Cancellation) -> None:
        """Add a call to the last batch, or begin another batch.

        Raises:
            InvalidArgumentError: the call has more rows than a batch may have.
            UnavailableError: too many batches wait.
        """
        limits = self._limits
        if task.rows > limits.size:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Task size {task.rows} is larger than maximum input batch size {limits.size}",
            )
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            if _rows(self._batches[-1]) + task.rows > limits.size:
                if len(self._batches) >= limits.batches:
                    raise errors.UnavailableError(
                        None,
                        None,
                        "The batch scheduling queue to which this task was submitted is full",
                    )
                self._batches.append([])
            is_first = not self._batches[-1]
            self._batches[-1].append(task)
            if is_first:
                self._due = self._clock.now() + limits.timeout_s
                self._clock.call_at(self._due, self._begin)
        cancelled.register(lambda error: self._cancel(task, error))
        self._begin()

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            waiting = [task for batch in self._batches for task in batch]
            self._batches = deque([[]])
        for task in waiting:
            task.answer((), error)

    def _cancel(self, task: Task, error: errors.OpError) -> None:
        with self._lock:
            for batch in self._batches:
                if task in batch:
                    batch.remove(task)
        task.answer((), error)

    def _begin(self) -> None:
        """Start threads for the batches that are complete, as far as threads are free."""
        with self._lock:
            while self._running < self._limits.threads and (batch := self._next()):
                self._running += 1
                threading.Thread(
                    target=contextvars.Context().run,
                    args=(self._work, batch),
                    name="capstan-batch",
                    daemon=True,
                ).start()

    def _next(self) -> list[Task]:
        """Remove and return the first batch that is complete, or an empty list."""
        while len(self._batches) > 1:
            if batch := self._batches.popleft():  # else all its calls were cancelled
                return batch
        last = self._batches[0]
        is_full = _rows(last) >= self._limits.size
        if not last or not (is_full or self._clock.now() >= self._due):
            return []
        self._batches = deque([[]])
        return last

    def _work(self, batch: list[Task]) -> None:
        np.seterr(all="ignore")
        try:
            self._finish(batch, self._joined(batch))
        except Exception as fault:  # noqa: BLE001 - the error of all steps
            for task in batch:
                task.answer((), errors.from_exception(fault))
        with self._lock:
            self._running -= 1
        self._begin()

    def _joined(self, batch: list[Task]) -> list[Array]:
        """Return each argument of all calls, padded with its first row."""
        missing = self._limits.padded(_rows(batch)) - _rows(batch)
        columns = []
        for parts in zip(*(task.tensors for task in batch), strict=True):
            if any(part.shape[1:] != parts[0].shape[1:] for part in parts):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "Dimensions of inputs should match: "
                    f"{', '.join(str(list(part.shape)) for part in parts)}",
                )
            columns.append(np.concatenate([*parts, *[parts[0][:1]] * missing]))
        return columns


def _rows(batch: Sequence[Task]) -> int:
    return sum(task.rows for task in batch)


def hand_out(batch: Sequence[Task], outputs: Sequence[Array], rows: int) -> None:
    """Give each call its rows of the outputs, which have `rows` rows."""
    for output in outputs:
        if not output.ndim:
            raise errors.FailedPreconditionError(
                None, None, "Batched output tensor has 0 dimensions"
            )
        if len(output) != rows:
            raise errors.FailedPreconditionError(
                None,
                None,
                "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension "
                "sizes of the input tensors",
            )
    start = 0
    for task in batch:
        stop = start + task.rows
        task.answer([output[start:stop].copy() for output in outputs], None)
        start = stop


def collect(batch: Sequence[Task], joined: Sequence[Array]) -> None:
    """Give the last call the joined arguments, and all others arguments without rows.

    Two more outputs are the rows of each call, as (number, start, stop), and the call's number.
    """
    stops = list(itertools.accumulate(task.rows for task in batch))
    index = [(task.number, stop - task.rows, stop) for task, stop in zip(batch, stops, strict=True)]
    *others, last = batch
    for task in others:
        empty = [np.zeros((0, *tensor.shape[1:]), tensor.dtype) for tensor in task.tensors]
        task.answer([*empty, np.zeros((0, 3), np.int64), np.array(task.number)], None)
    last.answer([*joined, np.array(index, np.int64), np.array(last.number)], None)
