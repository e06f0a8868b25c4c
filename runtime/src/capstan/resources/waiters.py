"""Operations that wait for a resource: callbacks in order, without a thread.

A resource has one or more lines of *attempts*. Only the first attempt of a line is tried, unless
the line is a `Crowd`. After each change the resource tries the lines in turn until no attempt gets
further, as TensorFlow's QueueBase does (core/kernels/queue_base.cc). It answers attempts after it
has released its lock.

An attempt leaves its line exactly once: when it is complete, or when its step is cancelled. Only
the thread that removed the attempt answers it. If the step has ended when the answer arrives, or
ends before it reads the answer, the attempt gives back what it took from the resource.
"""

import abc
import enum
import functools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

from capstan import errors
from capstan.core import cancellation, resource_name
from capstan.resources import resource

GiveBack = Callable[[], None]
"""Gives back what an operation took. Never blocks."""


class Done(Protocol):
    """Takes the outputs of an operation, or its error."""

    def __call__(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: GiveBack | None = None,
        /,
    ) -> bool:
        """Return False if the step has ended, so that the operation gives back what it took.

        If the step ends before it reads the outputs, it calls `give_back`.
        """


ENDS = (
    errors.CancelledError,
    errors.DeadlineExceededError,
    errors.AbortedError,
    errors.UnavailableError,
)
"""The errors of a step that was ended. The step may already have passed on some results."""


def at_failure(step: cancellation.Cancellation, give_back: Callable[[int], None]) -> None:
    """Call `give_back(count)` at the end of the step if the step failed or was ended.

    `count` is the number of elements that the step has added to queues, which do not go back.
    """

    def end() -> None:
        if step.error is not None:
            give_back(step.passed_on)

    step.at_end(end)


class Progress(enum.Enum):
    """The result of trying an attempt."""

    NONE = "it must wait"
    SOME = "it changed the resource, and must wait"
    COMPLETE = "it is over, with or without an error"


class Attempt(abc.ABC):
    """An operation that may have to wait."""

    takes: ClassVar[bool] = True
    """Whether the operation may take something that `undo` gives back."""

    def __init__(self, done: Done, cancelled: cancellation.Cancellation) -> None:
        self.done = done
        self.cancellation = cancelled
        self.error: errors.OpError | None = None
        self.deregister: Callable[[], None] | None = None

    @abc.abstractmethod
    def advance(self) -> Progress:
        """Try to complete the operation. Called under the lock of the resource."""

    def undo(self) -> None:  # noqa: B027 - an attempt that takes nothing gives nothing back
        """Give back what the attempt took. Called under the lock of the resource."""

    def outputs(self) -> Sequence[Any]:
        """Return the outputs of the complete operation. Called without the lock."""
        return ()


class Line(OrderedDict[Attempt, None]):
    """Attempts in the order of their arrival. The caller must hold the lock of the resource."""

    def append(self, attempt: Attempt) -> None:
        self[attempt] = None

    def remove(self, attempt: Attempt) -> bool:
        """Remove an attempt. Return False if it has left the line already."""
        if attempt not in self:
            return False
        del self[attempt]
        return True

    def empty(self) -> list[Attempt]:
        """Remove and return all attempts."""
        attempts = list(self)
        self.clear()
        return attempts

    def advance(self, complete: list[Attempt]) -> bool:
        """Try the attempts in order until one must wait. Return whether anything changed.

        Attempts that are over move to `complete`.
        """
        has_changed = False
        while self:
            attempt = next(iter(self))
            progress = attempt.advance()
            if progress is not Progress.COMPLETE:
                return has_changed or progress is Progress.SOME
            del self[attempt]
            complete.append(attempt)
            has_changed = True
        return has_changed


class Crowd(Line):
    """Attempts that are all tried, in the order of their arrival.

    An attempt that must wait does not delay the later attempts.
    """

    def advance(self, complete: list[Attempt]) -> bool:
        """Try every attempt. Return whether anything changed."""
        has_changed = False
        for attempt in list(self):
            progress = attempt.advance()
            if progress is Progress.COMPLETE:
                del self[attempt]
                complete.append(attempt)
            has_changed |= progress is not Progress.NONE
        return has_changed


class Waited(resource.Resource):
    """A resource that operations wait for. Thread-safe. No method blocks."""

    def __init__(self, name: resource_name.ResourceName, lines: Sequence[Line] = ()) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._lines = tuple(lines) or (Line(),)
        self._abandoned: errors.OpError | None = None

    def submit(self, attempt: Attempt, line: Line | None = None) -> None:
        """Complete `attempt` now or later, in `line` or else in the first line."""
        line = self._lines[0] if line is None else line
        if attempt.cancellation.error is not None:
            attempt.done((), attempt.cancellation.error)
            return
        complete: list[Attempt] = []
        is_waiting = False
        with self._lock:
            error = self._abandoned
            if error is None:
                if not line and attempt.advance() is Progress.COMPLETE:
                    complete = [attempt, *self._advance()]
                else:
                    line.append(attempt)
                    complete = self._advance()
                    is_waiting = attempt in line
        if error is not None:
            attempt.done((), error)
            return
        self._answer(complete)
        if is_waiting:
            self._watch(attempt, line)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            waiting = [attempt for line in self._lines for attempt in line.empty()]
        for attempt in waiting:
            attempt.error = error
        self._answer(waiting)

    def _advance(self) -> list[Attempt]:
        """Try the attempts until none gets further. Return the attempts that are over."""
        complete: list[Attempt] = []
        if any(self._lines):
            while any(line.advance(complete) for line in self._lines if line):
                pass
        return complete

    def _watch(self, attempt: Attempt, line: Line) -> None:
        """Cancel a waiting attempt when its step is cancelled."""
        cancel = functools.partial(self._cancel, attempt, line)
        deregister = attempt.cancellation.register(cancel)
        with self._lock:
            if attempt in line:
                attempt.deregister = deregister
                return
        deregister()

    def _cancel(self, attempt: Attempt, line: Line, error: errors.OpError) -> None:
        with self._lock:
            if not line.remove(attempt):
                return
            attempt.undo()
            complete = self._advance()
        attempt.done((), error)
        self._answer(complete)

    def _answer(self, attempts: Iterable[Attempt]) -> None:
        """Answer attempts that are over. If the step of an attempt has ended, undo the attempt."""
        left = deque(attempts)
        while left:
            attempt = left.popleft()
            if attempt.deregister is not None:
                attempt.deregister()
            if attempt.error is not None:
                attempt.done((), attempt.error)
            elif not self._hand_over(attempt):
                with self._lock:
                    attempt.undo()
                    left += self._advance()

    def _hand_over(self, attempt: Attempt) -> bool:
        """Give the outputs of an attempt to its step. Return whether the step took them."""
        error = attempt.cancellation.error
        try:
            if error is None:
                give_back = functools.partial(self._take_back, attempt) if attempt.takes else None
                return attempt.done(attempt.outputs(), None, give_back)
        except Exception as fault:  # noqa: BLE001 - the step's error, such as a lack of memory
            error = errors.from_exception(fault)
        attempt.done((), error)
        return False

    def _take_back(self, attempt: Attempt) -> None:
        """Undo an attempt whose step ended before it read the outputs."""
        with self._lock:
            attempt.undo()
            complete = self._advance()
        self._answer(complete)
