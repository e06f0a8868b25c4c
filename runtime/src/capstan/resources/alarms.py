"""Calls of functions at set times, for operations that wait no longer than a time limit."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Alarms:
    """Calls functions when their times come, one after the other, in a thread.

    The thread runs only while there are functions to call. It does not keep the process alive.
    Thread-safe. No method blocks.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._pending: list[tuple[float, int, Callable[[], None]]] = []
        self._is_running = False

    def now(self) -> float:
        """Return the time in the seconds of `call_at`."""
        return time.monotonic()

    def call_at(self, due: float, function: Callable[[], None]) -> None:
        """Call `function` once, at `due` or soon after.

        `function` must neither block nor raise.
        """
        with self._changed:
            heapq.heappush(self._pending, (due, next(self._numbers), function))
            if self._is_running:
                self._changed.notify()
                return
            self._is_running = True
        threading.Thread(target=self._run, name="capstan-alarms", daemon=True).start()

    def _run(self) -> None:
        while function := self._next():
            function()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next time, and return its function. Without functions, end the thread."""
        with self._changed:
            while self._pending:
                left = self._pending[0][0] - self.now()
                if left <= 0:
                    return heapq.heappop(self._pending)[2]
                self._changed.wait(left)
            self._is_running = False
            return None
