"""The operations on a queue that may have to wait: enqueues, dequeues and closings."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.resources import elements, queue_elements, waiters


class Enqueue(waiters.Attempt):
    """An operation that adds elements to a queue one after the other, as there is room."""

    takes = False

    def __init__(
        self,
        queue: queue_elements.QueueElements,
        batches: Sequence[elements.Batch],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._queue = queue
        self._left = deque(batches)

    def advance(self) -> waiters.Progress:
        queue, left = self._queue, self._left
        if queue.is_closed:
            self.error = errors.CancelledError(
                None, None, f"{queue.single_kind or queue.kind} '{queue.name}' is closed."
            )
            return waiters.Progress.COMPLETE
        progress = waiters.Progress.NONE
        while left:
            batch = left[0]
            count = len(batch[0])
            if queue.capacity is None or len(queue) + count <= queue.capacity:
                queue.put(left.popleft())
            else:
                room = queue.capacity - len(queue)
                if room <= 0:
                    return progress
                queue.put(elements.part(batch, 0, room))
                left[0] = elements.part(batch, room)
                count = room
            self.cancellation.passed_on += count
            progress = waiters.Progress.SOME
        return waiters.Progress.COMPLETE


class Close(waiters.Attempt):
    """An operation that closes a queue after the enqueues before it."""

    takes = False

    def __init__(
        self,
        queue: queue_elements.QueueElements,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._queue = queue

    def advance(self) -> waiters.Progress:
        if self._queue.is_closed:
            self.error = errors.CancelledError(
                None, None, f"Queue '{self._queue.name}' is already closed."
            )
        self._queue.is_closed = True
        return waiters.Progress.COMPLETE


class Dequeue(waiters.Attempt):
    """An operation that takes elements from a queue."""

    allows_small_batch = False

    def __init__(
        self,
        queue: queue_elements.QueueElements,
        count: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._queue = queue
        self.kind = queue.single_kind or queue.kind
        self._missing = count
        self._entries: list[queue_elements.Entry] = []

    def advance(self) -> waiters.Progress:
        queue = self._queue
        if queue.is_closed and len(queue) < self._missing and not self._shrink():
            return waiters.Progress.COMPLETE
        ready = queue.ready()
        if ready < self._missing and not queue.is_piecemeal:
            return waiters.Progress.NONE
        count = min(ready, self._missing)
        if count <= 0:
            return waiters.Progress.NONE
        self._entries += queue.take(count)
        self._missing -= count
        return waiters.Progress.SOME if self._missing else waiters.Progress.COMPLETE

    def _shrink(self) -> bool:
        """Reduce the dequeue to the elements that a closed queue has, and return True.

        If the dequeue does not allow this, or the queue is empty, set the error and return False.
        """
        queue = self._queue
        missing, size = self._missing, len(queue)
        self.undo()
        if self.allows_small_batch and len(queue):
            self._missing = len(queue)
            return True
        self.error = errors.OutOfRangeError(
            None,
            None,
            f"{self.kind} '{queue.name}' is closed and has insufficient elements (requested "
            f"{missing}, current size {size})",
        )
        return False

    def undo(self) -> None:
        self._missing += sum([len(batch[0]) for _, batch in self._entries])
        self._queue.restore(self._entries)
        self._entries = []

    def held(self) -> list[elements.Batch]:
        """Return the elements that the operation holds while it waits for more."""
        return [batch for _, batch in self._entries]

    def outputs(self) -> Sequence[Any]:
        return elements.first(self._entries[0][1])


class DequeueMany(Dequeue):
    """An operation that takes elements from a queue and returns them as batches."""

    def outputs(self) -> Sequence[Any]:
        batches = [batch for _, batch in self._entries]
        return tuple(
            self._queue.join([batch[component] for batch in batches], component)
            for component in range(len(self._queue.types))
        )


class DequeueRows(DequeueMany):
    """An operation that takes one element, and others that are there, up to `most()` in all."""

    def __init__(
        self,
        queue: queue_elements.QueueElements,
        most: Callable[[], int],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(queue, 1, done, cancelled)
        self._most = most

    def advance(self) -> waiters.Progress:
        progress = super().advance()
        if progress is waiters.Progress.COMPLETE and self.error is None:
            more = min(self._queue.ready(), self._most() - 1)
            if more > 0:
                self._entries += self._queue.take(more)
        return progress

    def keep(self, count: int) -> None:
        """Let `undo` keep the first `count` elements. Called under the lock of the queue."""
        while count > 0 and self._entries:
            position, batch = self._entries.pop(0)
            size = len(batch[0])
            if size > count:
                self._entries.insert(0, (position + count, elements.part(batch, count)))
            count -= size
