"""Mutexes: locks that one step at a time holds (core/kernels/mutex_ops.cc).

The steps that wait get the lock in the order in which they asked for it. A step that ends, also by
an error, gives back its locks: when nothing of the step runs any more on the task of the mutex.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import variant, waiters


class Lock(variant.Variant):
    """The right of one step to run alone. It does not leave the task of its mutex."""

    __slots__ = ("_forget", "_mutex")
    type_name: ClassVar[str] = "tensorflow::MutexLock"

    def __init__(self, mutex: "Mutex", step: cancellation.Cancellation) -> None:
        self._mutex = mutex
        self._forget: Callable[[], None] = step.at_end(self.release)

    def release(self) -> bool:
        """Let the next step have the lock. Return False if this was done before."""
        self._forget()
        return self._mutex.release(self)

    def zeros_like(self) -> "Lock":
        raise _unimplemented("The lock of a mutex has no zeros")

    def plus(self, other: variant.Variant) -> "Lock":
        raise _unimplemented("Locks of mutexes cannot be added")

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        raise _unimplemented(
            "The lock of a mutex cannot leave its task. Place ConsumeMutexLock on the task of the "
            "mutex, and do not fetch the lock"
        )


class Mutex(waiters.Waited):
    """A lock by name. Thread-safe. No method blocks."""

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._holder: Lock | None = None

    def acquire(self, done: waiters.Done, cancelled: cancellation.Cancellation) -> None:
        """Call `done` with a tensor of the lock, as soon as no other step holds the lock."""
        self.submit(_Acquire(self, done, cancelled))

    def release(self, lock: Lock) -> bool:
        """Take `lock` back, and give it to the next step. Return False if `lock` is not held."""
        with self._lock:
            if self._holder is not lock:
                return False
            self._holder = None
            served = self._advance()
        self._answer(served)
        return True


class _Acquire(waiters.Attempt):
    def __init__(
        self, mutex: Mutex, done: waiters.Done, cancelled: cancellation.Cancellation
    ) -> None:
        super().__init__(done, cancelled)
        self._mutex = mutex
        self._taken: Lock | None = None

    def advance(self) -> waiters.Progress:
        if self._mutex._holder is not None:
            return waiters.Progress.NONE
        self._taken = self._mutex._holder = Lock(self._mutex, self.cancellation)
        return waiters.Progress.COMPLETE

    def undo(self) -> None:
        if self._taken is not None and self._mutex._holder is self._taken:
            self._mutex._holder = None

    def outputs(self) -> Sequence[Any]:
        return (variant.scalar(self._taken),)


def _unimplemented(message: str) -> errors.OpError:
    return errors.UnimplementedError(None, None, message)
