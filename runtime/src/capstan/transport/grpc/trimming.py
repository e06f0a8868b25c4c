"""Return the memory that large requests took to the system.

The C library keeps freed memory for later allocations. gRPC's own threads free some buffers of a
request when its handler has ended, so the memory is returned several times.
"""

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Final

_PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0)
"""The pauses after the last large request, and between the returns. The numbers are a guess."""


class Trimming:
    """Returns memory now and later, in a thread of its own. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses: Iterator[float] = iter(())
        self._is_pending = False

    def begin(self) -> None:
        """Return freed memory now, and again after some pauses. Never waits for the pauses."""
        trim()
        with self._lock:
            self._pauses = iter(_PAUSES_S)
            if not self._is_pending:
                self._pause()

    def _pause(self) -> None:
        """Start the next pause, if one is left. The caller holds the lock."""
        self._is_pending = False
        pause = next(self._pauses, None)
        if pause is None:
            return
        timer = threading.Timer(pause, self._again)
        timer.daemon, timer.name = True, "capstan-trimming"
        # If the system starts no thread, the next large request tries again.
        with contextlib.suppress(RuntimeError):
            timer.start()
            self._is_pending = True

    def _again(self) -> None:
        trim()
        with self._lock:
            self._pause()


def trim() -> None:
    """Return freed memory to the system. Does nothing if the C library has no such function."""
    function = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if function is not None:
        function(0)
