"""How a caller calls off something that it still waits for."""

import contextlib
import threading
from collections.abc import Callable, Iterator


class Cancellation:
    """Whether a result is still wanted. It is called off at most once. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants the result any more."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Wake every waiter and call what `watched` was given. Idempotent."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def wait(self, timeout_s: float) -> bool:
        """Block for `timeout_s`, or until the cancellation; say whether there was one."""
        return self._event.wait(timeout_s)

    @contextlib.contextmanager
    def watched(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` if the cancellation comes within the block, or came before it."""
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
