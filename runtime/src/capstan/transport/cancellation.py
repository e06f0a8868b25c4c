"""Cancellation of a call by its caller."""

import contextlib
import threading
from collections.abc import Callable, Iterator


class Cancellation:
    """A flag that says that the result of a call is no longer needed. Thread-safe.

    The flag is set at most once and never cleared.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Wake every waiter, and call the callbacks given to `watched`. Idempotent."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def confirm(self) -> bool:
        """Return whether the caller still wants the result of a call that has succeeded."""
        return not self.is_cancelled

    def wait(self, timeout_s: float) -> bool:
        """Block for `timeout_s` or until `cancel` is called. Return whether `cancel` was called."""
        return self._event.wait(timeout_s)

    @contextlib.contextmanager
    def watched(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` if `cancel` was called already, or is called before the block ends."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
        if self._event.is_set():
            callback()
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)
