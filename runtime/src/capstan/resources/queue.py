"""Queues: TensorFlow's QueueBase (core/kernels/queue_base.cc).

Enqueues wait while the queue is full. Dequeues wait while it is empty. Waiting enqueues and waiting
dequeues are served in the order of their arrival. A dequeue of several elements takes each element
as soon as it arrives, so it may take more elements than the queue can hold.

The queue differs from TensorFlow's in one respect. If a step ends before it reads the elements that
it took, they go back to where they were. TensorFlow loses them.
"""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Final

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import (
    alarms,
    element_shapes,
    elements,
    queue_attempts,
    queue_elements,
    waiters,
)

# A first element that takes longer probably never comes. A slow input may need some seconds.
_PATIENCE_SECONDS: Final = 30.0


class Queue(waiters.Waited, queue_elements.QueueElements):
    """Elements that wait for dequeues. Thread-safe. No method blocks."""

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
        self._is_watched = False

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
        self.submit(queue_attempts.Enqueue(self, copies, done, cancelled), self._enqueues)

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
            self.submit(
                queue_attempts.Enqueue(self, self.copies(batches), done, cancelled), self._enqueues
            )
        else:
            done((), None)

    def dequeue(self, done: waiters.Done, cancelled: cancellation.Cancellation) -> None:
        """Take the next element. The outputs are its components."""
        self.submit(queue_attempts.Dequeue(self, 1, done, cancelled), self._dequeues)

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
        attempt = queue_attempts.DequeueMany(self, count, done, cancelled)
        attempt.kind = self.kind
        attempt.allows_small_batch = allow_small_batch
        if count:
            self.submit(attempt, self._dequeues)
        else:
            done(attempt.outputs(), None)

    def dequeue_rows(
        self,
        most: Callable[[], int],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Take an element as soon as there is one, and up to `most()` elements if there are more.

        Each output holds one component of all of them. If the step fails (`waiters.at_failure`),
        those go back that the step has not added to another queue. `most` must not block.

        Raises:
            InvalidArgumentError: the queue does not know the shapes of its components.
        """
        self._known_shapes()
        attempt = queue_attempts.DequeueRows(self, most, done, cancelled)
        waiters.at_failure(cancelled, functools.partial(self._take_rest_back, attempt))
        self.submit(attempt, self._dequeues)

    def _take_rest_back(self, attempt: queue_attempts.DequeueRows, passed_on: int) -> None:
        with self._lock:
            attempt.keep(passed_on)
        self._take_back(attempt)

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
            self.submit(queue_attempts.Close(self, done, cancelled), self._enqueues)
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

    def wanted(self, most: int) -> int:
        """Return how many elements an enqueue should bring, up to `most`.

        This is the number of elements that the queue has room for. If it is less than half of
        `most`, return half of `most`: the enqueue then waits for room.
        """
        if self.capacity is None:
            return most
        return min(most, max(self.capacity - len(self), most // 2))

    # --- the warning about a queue that nothing fills

    def watch(self, clock: alarms.Alarms) -> None:
        """Warn if the first dequeue that has to wait finds no element for 30 seconds.

        A queue warns at most once, because a program may well wait long on purpose.
        """
        if self._is_watched or not self._dequeues:
            return
        with self._lock:
            waiting = next(iter(self._dequeues), None)
            if waiting is None or self._is_watched:
                return
            self._is_watched = True
        due = clock.now() + _PATIENCE_SECONDS
        clock.call_at(due, functools.partial(self._warn_of, waiting))

    def _warn_of(self, waiting: waiters.Attempt) -> None:
        with self._lock:
            if waiting not in self._dequeues or self._arrived:
                return
        logging.getLogger("capstan").warning(
            "Dequeue still waiting for the first element of %s '%s'. Check that the program fills "
            "the queue: call tf.train.start_queue_runners, or use a MonitoredTrainingSession. If "
            "this is sync_token_q, give the session the hook of "
            "SyncReplicasOptimizer.make_session_run_hook",
            self.kind,
            self.name,
        )

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
                if isinstance(attempt, queue_attempts.Dequeue)
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
