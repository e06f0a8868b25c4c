"""Staging areas: small buffers between the steps of a pipeline (core/kernels/stage_op.cc).

In TensorFlow a step that waits for a staging area cannot be cancelled. Here it can.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation, resource_name
from capstan.resources import elements, waiters


class Limits:
    """The number and the size of the elements that a staging area may hold. 0 means no limit."""

    def __init__(self, capacity: int, memory: int) -> None:
        self.capacity = capacity
        self.memory = memory
        self.used = 0

    def check(self, size: int) -> None:
        """Refuse an element that can never be added."""
        if self.memory and size > self.memory:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging "
                f"Area with a memory limit of '{self.memory}'.",
            )

    def admit(self, count: int, size: int) -> bool:
        """Return whether an element of `size` bytes fits in if `count` elements are there."""
        has_room = not self.capacity or count < self.capacity
        return has_room and (not self.memory or self.used + size <= self.memory)


class Wait(waiters.Attempt):
    """An operation that is tried until it returns its outputs.

    `attempt()` returns None while the operation must wait. `undo(outputs)` puts back the elements
    that `attempt` took.
    """

    def __init__(
        self,
        attempt: Callable[[], Sequence[Any] | None],
        undo: Callable[[Sequence[Any]], None] | None,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._attempt = attempt
        self._undo = undo
        self._outputs: Sequence[Any] | None = None

    def advance(self) -> waiters.Progress:
        try:
            self._outputs = self._attempt()
        except errors.OpError as error:
            self.error = error
            return waiters.Progress.COMPLETE
        return waiters.Progress.NONE if self._outputs is None else waiters.Progress.COMPLETE

    def undo(self) -> None:
        if self._outputs is not None and self._undo is not None:
            self._undo(self._outputs)
            self._outputs = None

    def outputs(self) -> Sequence[Any]:
        return self._outputs or ()


class StagingArea(waiters.Waited):
    """A queue that cannot be closed. Thread-safe. No method blocks.

    `owned` copies a component of an element. By default it copies arrays of the host.
    """

    def __init__(
        self,
        name: resource_name.ResourceName,
        capacity: int,
        memory_limit: int,
        owned: Callable[[Any], Any] = elements.owned,
    ) -> None:
        super().__init__(name, (waiters.Line(), waiters.Line(), waiters.Crowd()))
        self._owned = owned
        self._puts, self._gets, self._peeks = self._lines
        self._limits = Limits(capacity, memory_limit)
        self._held: deque[tuple[int, elements.Element]] = deque()
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._held)

    def put(
        self, element: elements.Element, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        """Add a copy of an element, and call `done`: at once, or when the area has room."""
        size = elements.size_in_bytes(element)
        self._limits.check(size)
        copy = tuple(map(self._owned, element))

        def attempt() -> Sequence[Any] | None:
            if not self._limits.admit(len(self._held), size):
                return None
            self._held.append((self._arrivals, copy))
            self._arrivals += 1
            self._limits.used += size
            return ()

        self.submit(Wait(attempt, None, done, cancelled), self._puts)

    def get(self, count: int, done: waiters.Done, cancelled: cancellation.Cancellation) -> None:
        """Call `done` with the first element, at once or when one arrives, and remove the element.

        The element must have `count` components.
        """
        arrival = 0

        def attempt() -> Sequence[Any] | None:
            nonlocal arrival
            if not self._held:
                return None
            check_count(self._held[0][1], count)
            arrival, element = self._held.popleft()
            self._limits.used -= elements.size_in_bytes(element)
            return element

        def undo(element: Sequence[Any]) -> None:
            later = []
            while self._held and self._held[0][0] < arrival:
                later.append(self._held.popleft())
            self._held.appendleft((arrival, tuple(element)))
            self._held.extendleft(reversed(later))
            self._limits.used += elements.size_in_bytes(element)

        self.submit(Wait(attempt, undo, done, cancelled), self._gets)

    def peek(
        self, index: int, count: int, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        """Copy element number `index`. Waits until this element is there."""

        def attempt() -> Sequence[Any] | None:
            if not 0 <= index < len(self._held):
                return None
            element = self._held[index][1]
            check_count(element, count)
            return tuple(map(self._owned, element))

        self.submit(Wait(attempt, None, done, cancelled), self._peeks)

    def clear(self) -> None:
        """Forget all elements."""
        with self._lock:
            self._held.clear()
            self._limits.used = 0
            complete = self._advance()
        self._answer(complete)


def check_count(element: Sequence[Any], count: int) -> None:
    """Check that an element has as many components as the operation has outputs."""
    if len(element) != count:
        raise errors.InvalidArgumentError(
            None, None, f"Mismatch stage/unstage: {len(element)} vs. {count}"
        )
