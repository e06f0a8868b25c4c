"""Queues: TensorFlow's QueueBase (core/kernels/queue_base.cc).

Enqueues wait while the queue is full. Dequeues wait while it is empty. Waiting enqueues and waiting
dequeues are served in the order of their arrival. A dequeue of several elements takes each element
as soon as it arrives, so it may take more elements than the queue can hold.

The queue differs from TensorFlow's in one respect. If a step ends before it reads the elements that
it took, they go back to where they were. TensorFlow loses them.
"""

import abc
import itertools
from collections import deque
from collections.abc import Iterable, Sequence, Sized
from typing import Any, ClassVar

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import element_shapes, elements, waiters

Entry = tuple[int, elements.Element]
"""The position of an element in the order of arrival, and the element."""


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
        self._arrivals = itertools.count()
        self._held = self._empty()

    # --- the order of the elements

    def __len__(self) -> int:
        return len(self._held)

    @abc.abstractmethod
    def _empty(self) -> Sized:
        """Return the collection that will hold the elements. The constructor calls this once."""

    @abc.abstractmethod
    def put(self, element: elements.Element) -> None:
        """Add an element. Called under the lock."""

    @abc.abstractmethod
    def take(self) -> Entry:
        """Remove the next element. Called under the lock."""

    def put_all(self, added: Iterable[elements.Element]) -> None:
        """Add elements in their order, as `put`."""
        for element in added:
            self.put(element)

    def take_all(self, count: int) -> list[Entry]:
        """Remove the next `count` elements, as `take`."""
        return [self.take() for _ in range(count)]

    @abc.abstractmethod
    def restore(self, entries: Sequence[Entry]) -> None:
        """Put entries back to where `take` found them. Called under the lock."""

    def ready(self) -> int:
        """Return the number of elements that dequeues may take now."""
        return len(self)

    def batch(self, column: Sequence[Any], component: int) -> Any:
        """Return the values of one component of several elements as one array."""
        shape: Any = self._known_shapes()[component]
        return elements.stack(column, self.types[component], shape)

    # --- operations

    def enqueue(
        self, element: elements.Element, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        """Add a copy of an element.

        Raises:
            InvalidArgumentError: a component has another shape than the queue's components.
        """
        self.check(element)
        copies = [tuple(map(elements.owned, element))]
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
        columns = [self._slices(batch) for batch in batches]
        copies = list(zip(*columns, strict=True))
        if copies:
            self.submit(Enqueue(self, copies, done, cancelled), self._enqueues)
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
            pending = self._enqueues.clear()
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

    def _slices(self, batch: Any) -> list[Any]:
        """Return copies of the slices of a batch. The copies share one array."""
        return elements.rows(batch.copy())


class Enqueue(waiters.Attempt):
    """An operation that adds elements to a queue one after the other, as there is room."""

    takes = False

    def __init__(
        self,
        queue: Queue,
        copies: Sequence[elements.Element],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        super().__init__(done, cancelled)
        self._queue = queue
        self._left = deque(copies)

    def advance(self) -> waiters.Progress:
        queue, left = self._queue, self._left
        if queue.is_closed:
            self.error = errors.CancelledError(
                None, None, f"{queue.single_kind or queue.kind} '{queue.name}' is closed."
            )
            return waiters.Progress.COMPLETE
        room = len(left) if queue.capacity is None else queue.capacity - len(queue)
        if room >= len(left):
            queue.put_all(left)
            return waiters.Progress.COMPLETE
        if room <= 0:
            return waiters.Progress.NONE
        queue.put_all([left.popleft() for _ in range(room)])
        return waiters.Progress.SOME


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
        self._entries += queue.take_all(count)
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
        self._missing += len(self._entries)
        self._queue.restore(self._entries)
        self._entries = []

    def outputs(self) -> Sequence[Any]:
        return self._entries[0][1]


class DequeueMany(Dequeue):
    """An operation that takes elements from a queue and returns them as batches."""

    def outputs(self) -> Sequence[Any]:
        columns = list(zip(*[element for _, element in self._entries], strict=True))
        columns = columns or [()] * len(self._queue.types)
        return tuple(
            self._queue.batch(column, component) for component, column in enumerate(columns)
        )
