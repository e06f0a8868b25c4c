"""Queues: TensorFlow's QueueBase (core/kernels/queue_base.cc).

Enqueues wait while the queue is full. Dequeues wait while it is empty. Waiting enqueues and waiting
dequeues are served in the order of their arrival. A dequeue of several elements takes each element
as soon as it arrives, so it may take more elements than the queue can hold.

The queue differs from TensorFlow's in one respect. If a step ends before it reads the elements that
it took, they go back to where they were. TensorFlow loses them.
"""

import abc
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.core.arrays import Array
from capstan.resources import element_shapes, elements, waiters

Entry = tuple[int, elements.Batch]
"""Elements that arrived one after the other, and the position of the first of them."""


class Queue(waiters.Waited, abc.ABC):
    """Elements that wait for dequeues. Subclasses say which element comes next.

    If `capacity` is None, the queue has no limit. Thread-safe. No method blocks.
    """

    kind: ClassVar[str]
    is_piecemeal: ClassVar[bool] = True
    """Whether a dequeue of several elements may take some of them while it waits for the rest."""
    single_kind: ClassVar[str] = ""
    """The kind in the messages of enqueues and of single dequeues, if it differs from `kind`."""
    needs_shapes: ClassVar[str] = "DequeueMany and DequeueUpTo require the components"

    def __init__(
        self,
        name: resource_name.ResourceName,
        capacity: int | None,
        component_types: Sequence[dtypes.DType],
        component_shapes: element_shapes.Shapes,
    ) -> None:
        super().__init__(name, (waiters.Line(), waiters.Line()))
        self.capacity = capacity
        self.types = tuple(component_types)
        self.shapes = component_shapes
        self.is_closed = False
        self._enqueues, self._dequeues = self._lines
        self._arrived = 0

    # --- the order of the elements

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return the number of elements."""

    @abc.abstractmethod
    def put(self, batch: elements.Batch) -> None:
        """Add the elements of one of the batches of `copies`. Called under the lock."""

    @abc.abstractmethod
    def take(self, count: int) -> list[Entry]:
        """Remove the next `count` elements. Called under the lock."""

    @abc.abstractmethod
    def restore(self, entries: Sequence[Entry]) -> None:
        """Put entries back to where `take` found them. Called under the lock."""

    def copies(self, batch: elements.Batch) -> Sequence[elements.Batch]:
        """Return copies of the elements of a batch, as the batches for `put`.

        Called without the lock.
        """
        return [tuple([column.copy() for column in batch])]

    def ready(self) -> int:
        """Return the number of elements that dequeues may take now."""
        return len(self)

    def in_order(self) -> list[elements.Batch]:
        """Return the elements in an order in which `put` restores the queue.

        Called under the lock. Nothing leaves the queue.
        """
        entries = self.take(len(self))
        self.restore(entries)
        return [batch for _, batch in entries]

    def join(self, columns: Sequence[Array], component: int) -> Array:
        """Return the values of one component of several batches as one array."""
        shape: Any = self._known_shapes()[component]
        return elements.join(columns, self.types[component], shape)

    # --- operations

    def enqueue(
        self, element: elements.Element, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        """Add a copy of an element.

        Raises:
            InvalidArgumentError: a component has another shape than the queue's components.
        """
        self.check(element)
        copies = (elements.alone(element),)
        self.submit(Enqueue(self, copies, done, cancelled), self._enqueues)

    def enqueue_many(
        self, batches: elements.Element, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        """Add copies of the slices of the batches along axis 0.

        If the step is cancelled while the queue is full, the first elements stay in the queue.

        Raises:
            InvalidArgumentError: the batches differ in size, or an element has another shape than
                the queue's components.
        """
        self.check_many(batches)
        if len(batches[0]):
            self.submit(Enqueue(self, self.copies(batches), done, cancelled), self._enqueues)
        else:
            done((), None)

    def dequeue(self, done: waiters.Done, cancelled: cancellation.Cancellation) -> None:
        """Take the next element. The outputs are its components."""
        self.submit(Dequeue(self, 1, done, cancelled), self._dequeues)

    def dequeue_many(
        self,
        count: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
        *,
        allow_small_batch: bool = False,
    ) -> None:
        """Take `count` elements. Each output holds one component of all of them.

        If `allow_small_batch`, a closed queue gives the elements that it has, if it has any.

        Raises:
            InvalidArgumentError: the queue does not know the shapes of its components.
        """
        self._known_shapes()
        attempt = DequeueMany(self, count, done, cancelled)
        attempt.kind = self.kind
        attempt.allows_small_batch = allow_small_batch
        if count:
            self.submit(attempt, self._dequeues)
        else:
            done(attempt.outputs(), None)

    def close(
        self,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
        *,
        cancel_pending_enqueues: bool = False,
    ) -> None:
        """Refuse later enqueues.

        The queue closes when the enqueues before this operation are over. If
        `cancel_pending_enqueues`, it closes at once and ends these enqueues with CancelledError.
        """
        if not cancel_pending_enqueues:
            self.submit(_Close(self, done, cancelled), self._enqueues)
            return
        with self._lock:
            self.is_closed = True
            pending = self._enqueues.empty()
            for attempt in pending:
                attempt.error = errors.CancelledError(None, None, "Enqueue operation was cancelled")
            pending += self._advance()
        self._answer(pending)
        done((), self._abandoned)

    def size(self) -> int:
        """Return the number of elements. If the queue was abandoned, raise the error."""
        if self._abandoned is not None:
            raise self._abandoned
        return len(self)

    # --- the state for a checkpoint

    def state(self) -> tuple[list[elements.Batch], bool]:
        """Return all elements, and whether the queue is closed.

        Elements that a waiting dequeue holds are in the queue. The batches must not be changed.
        """
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            held = [
                batch
                for attempt in self._dequeues
                if isinstance(attempt, Dequeue)
                for batch in attempt.held()
            ]
            return [*held, *self.in_order()], self.is_closed

    def replace(self, batches: Sequence[elements.Batch], *, is_closed: bool) -> None:
        """Replace all elements by other elements, and open or close the queue.

        A waiting dequeue gives up the elements that it holds, and waits for the new ones.
        """
        with self._lock:
            if self._abandoned is not None:
                raise self._abandoned
            for attempt in self._dequeues:
                attempt.undo()
            self.take(len(self))
            for batch in batches:
                self.put(batch)
            self.is_closed = is_closed
            complete = self._advance()
        self._answer(complete)

    # --- checks

    def check(self, element: elements.Element) -> None:
        """Check the shapes of the components of an element."""
        element_shapes.check(self.shapes, element)

    def check_many(self, batches: elements.Element) -> None:
        """Check the shapes of the components of a batch of elements."""
        element_shapes.check_batches(self.shapes, batches)

    def _known_shapes(self) -> tuple[tuple[int | None, ...], ...]:
        if self.shapes is None:
            raise errors.InvalidArgumentError(
                None, None, f"{self.kind}'s {self.needs_shapes} to have specified shapes."
            )
        return self.shapes


class Enqueue(waiters.Attempt):
    """An operation that adds elements to a queue one after the other, as there is room."""

    takes = False

    def __init__(
        self,
        queue: Queue,
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
            if queue.capacity is None or len(queue) + len(batch[0]) <= queue.capacity:
                queue.put(left.popleft())
            else:
                room = queue.capacity - len(queue)
                if room <= 0:
                    return progress
                queue.put(elements.part(batch, 0, room))
                left[0] = elements.part(batch, room)
            progress = waiters.Progress.SOME
        return waiters.Progress.COMPLETE


class _Close(waiters.Attempt):
    """An operation that closes a queue after the enqueues before it."""

    takes = False

    def __init__(
        self, queue: Queue, done: waiters.Done, cancelled: cancellation.Cancellation
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
        queue: Queue,
        count: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._queue = queue
        self.kind = queue.single_kind or queue.kind
        self._missing = count
        self._entries: list[Entry] = []

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
