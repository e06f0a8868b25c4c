"""Calls in threads of their own, and conditions to wait for."""

import gc
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

# Shorter than the limit of a test, which would end the test without saying what it waited for.
PATIENCE_S = 200.0


def until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition, and fail if it does not become true."""
    limit = time.monotonic() + patience_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < limit, "the condition did not become true"
        pause.wait(0.01)


def frame_of(thread: int) -> FrameType | None:
    """Return the frame that a thread executes now, or None if there is no such thread.

    The garbage collector rests meanwhile. While Python holds the lock of its list of threads, the
    collector may wait for that lock for ever (python/cpython, issue 106883).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if was_enabled:
            gc.enable()


class Background:
    """Runs a call in a thread, and keeps its result or its error."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: Exception | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except Exception as error:  # noqa: BLE001 - `join` raises it
            self.error = error

    def is_alive(self) -> bool:
        """Return whether the call is still in progress."""
        return self._thread.is_alive()

    def join(self) -> Any:
        """Return the result of the call, or raise its error."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.result
