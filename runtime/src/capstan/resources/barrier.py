"""Barriers: elements whose components arrive by key, one at a time (core/kernels/barrier_ops.cc).

When a closed barrier gets its last components, the takes that wait for more elements fail. In
TensorFlow such takes wait for ever.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name, shapes
from capstan.core.arrays import Array
from capstan.resources import elements, queues, resource, waiters

_FIRST_INDEX = -(2**63)


class Barrier(resource.Resource):
    """Incomplete elements by key, and a queue of the complete ones. Thread-safe."""

    def __init__(
        self,
        name: resource_name.ResourceName,
        component_types: Sequence[dtypes.DType],
        component_shapes: Sequence[tuple[int | None, ...] | None],
    ) -> None:
        super().__init__(name)
        self.types = tuple(component_types)
        self.shapes = tuple(component_shapes)
        known = ((), (), *(shape or () for shape in self.shapes))
        self._ready = _ReadyQueue(
            resource_name.ResourceName(self.container, f"{self.name}_queue"),
            None,
            (dtypes.int64, dtypes.string, *self.types),
            known,
        )
        self._lock = self._ready.lock
        self._incomplete: dict[bytes, tuple[int, dict[int, Any]]] = {}
        self._index = _FIRST_INDEX
        self._is_closed = False
        self._cancels = False

    def ready_size(self) -> int:
        return self._ready.size()

    def incomplete_size(self) -> int:
        with self._lock:
            return len(self._incomplete)

    def abandon(self, error: errors.OpError) -> None:
        self._ready.abandon(error)

    def insert_many(
        self,
        component: int,
        keys: Array,
        values: Array,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Set component number `component` of the element of each key.

        An element with all its components moves to the queue of complete elements. Keys that
        arrived earlier come first.

        Raises:
            InvalidArgumentError: a key has a value for this component, or the values are empty.
            CancelledError: the barrier is closed, and a key is new.
        """
        if keys.size and not values.size:
            raise _invalid(
                f"Tensors with no elements are not supported {self.name}: received shape "
                f"{shapes.show(values.shape)}"
            )
        names, rows = keys.ravel().tolist(), elements.rows(values.copy())
        complete: list[elements.Element] = []
        served: Sequence[waiters.Attempt] = ()
        try:
            with self._lock:
                self._ready.require_alive(cancelled)
                try:
                    self._insert(component, names, rows, complete)
                finally:
                    # An element that is complete stays, even if a later key is refused.
                    is_last = self._is_closed and not self._incomplete
                    served = self._ready.add(complete, is_last=is_last)
        finally:
            self._ready.serve(served)
        done((), None)

    def take_many(
        self,
        count: int,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
        *,
        allow_small_batch: bool = False,
    ) -> None:
        """Take `count` complete elements: their indices, their keys and their components.

        Raises:
            OutOfRangeError: the barrier is closed, and too few elements are complete or can become
                complete.
        """
        with self._lock:
            if self._is_closed:
                available = len(self._ready)
                if allow_small_batch:
                    count = min(count, available)
                else:
                    available += len(self._incomplete)
                if available < max(count, 1):
                    raise errors.OutOfRangeError(
                        None,
                        None,
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested "
                        f"{count}, total size {available})",
                    )
        self._ready.dequeue_many(count, done, cancelled, allow_small_batch=allow_small_batch)

    def close(self, *, cancel_pending_enqueues: bool = False) -> None:
        """Refuse new keys. If `cancel_pending_enqueues`, forget the incomplete elements too.

        Raises:
            CancelledError: the barrier is closed already.
        """
        with self._lock:
            if self._is_closed and (self._cancels or not cancel_pending_enqueues):
                raise errors.CancelledError(None, None, f"Barrier '{self.name}' is already closed.")
            self._cancels, self._is_closed = cancel_pending_enqueues, True
            if cancel_pending_enqueues:
                self._incomplete.clear()
            served = self._ready.add((), is_last=not self._incomplete)
        self._ready.serve(served)

    def _insert(
        self,
        component: int,
        keys: Sequence[bytes],
        rows: Sequence[Any],
        complete: list[elements.Element],
    ) -> None:
        """Add the values to the incomplete elements. The caller holds the lock.

        Append the elements that become complete to `complete`.
        """
        if self._is_closed and (self._cancels or (keys and not self._incomplete)):
            raise errors.CancelledError(
                None,
                None,
                f"Barrier {self.name} is closed.  Pending enqueues cancelled: "
                f"{int(self._cancels)}.  Number of new insertions: {len(keys)}.  Number of "
                f"incomplete keys: {len(self._incomplete)}.",
            )
        has_new_keys = False
        for position, (key, value) in enumerate(zip(keys, rows, strict=True)):
            if self._is_closed and key not in self._incomplete:
                raise errors.CancelledError(
                    None,
                    None,
                    f"Barrier {self.name} is closed, but attempted to insert a brand new key: "
                    f"{key.decode(errors='replace')}.  Pending enqueues cancelled: "
                    f"{int(self._cancels)}.  Insertion index: {position}.  Number of incomplete "
                    f"keys: {len(self._incomplete)}.",
                )
            has_new_keys |= key not in self._incomplete
            index, values = self._incomplete.setdefault(key, (self._index, {}))
            if component in values:
                raise _invalid(
                    f"Key {key.decode(errors='replace')} already has a value for component "
                    f"{component} in barrier {self.name}"
                )
            values[component] = value
            if len(values) == len(self.types):
                del self._incomplete[key]
                parts = (values[number] for number in range(len(self.types)))
                element = (np.int64(index), elements.scalar(key), *parts)
                self._ready.check(element)
                complete.append(element)
        self._index += has_new_keys


class _ReadyQueue(queues.PriorityQueue):
    """The complete elements of a barrier, in the order in which their keys arrived."""

    @property
    def lock(self) -> Any:
        return self._lock

    def require_alive(self, cancelled: cancellation.Cancellation) -> None:
        """Raise the error that ended the barrier or the step, if there is one."""
        error = self._abandoned or cancelled.error
        if error is not None:
            raise error

    def add(
        self, complete: Sequence[elements.Element], *, is_last: bool
    ) -> Sequence[waiters.Attempt]:
        """Add elements. If `is_last`, then close the queue. Return the dequeues that are over.

        The caller holds the lock. After it has released the lock, it passes the dequeues to
        `serve`.
        """
        for element in complete:
            self.put(elements.alone(element))
        self.is_closed |= is_last
        return self._advance()

    def serve(self, attempts: Sequence[waiters.Attempt]) -> None:
        """Answer the dequeues that are over. The caller does not hold the lock."""
        self._answer(attempts)


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
