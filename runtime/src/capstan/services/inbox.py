"""Work for the thread that waits for a step, handed over by other threads."""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable

from capstan import errors


class Inbox:
    """A queue of functions, which the waiting thread runs. `submit` is thread-safe."""

    def __init__(self, *, polled: bool) -> None:
        """With `polled`, `fileno` can be polled together with other descriptors."""
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pipe: tuple[int, int] | None = None
        if polled:
            self._pipe = os.pipe()
            for descriptor in self._pipe:
                os.set_blocking(descriptor, False)

    def submit(self, work: Callable[[], None]) -> None:
        """Let the waiting thread run `work`. Never blocks. After `close`, `work` never runs."""
        self._work.put(work)
        with self._lock:
            if self._pipe is not None:
                with contextlib.suppress(BlockingIOError):  # full, so it is readable already
                    os.write(self._pipe[1], b"\0")

    def wake(self) -> None:
        """Let the waiting thread look at the state of the step. Never blocks."""
        self.submit(_do_nothing)

    def fileno(self) -> int:
        """Return a descriptor that polls as readable when there is work, or -1."""
        return self._pipe[0] if self._pipe is not None else -1

    def run_next(self, deadline: float | None) -> None:
        """Wait for a function and run it.

        Raises:
            DeadlineExceededError: none came before `deadline`, in seconds of `time.monotonic`.
        """
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            work = self._work.get(timeout=limit)
        except queue.Empty:
            raise timed_out() from None
        work()

    def run_pending(self) -> None:
        """Run the functions that were submitted so far, without waiting."""
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe[0], 4096)
        with contextlib.suppress(queue.Empty):
            while True:
                self._work.get_nowait()()

    def close(self) -> None:
        """Release the descriptors. Idempotent."""
        with self._lock:
            pipe, self._pipe = self._pipe, None
        for descriptor in pipe or ():
            os.close(descriptor)


def require_before(deadline: float | None) -> None:
    """Raise DeadlineExceededError if `deadline`, in seconds of `time.monotonic`, has passed."""
    if deadline is not None and time.monotonic() >= deadline:
        raise timed_out()


def timed_out() -> errors.DeadlineExceededError:
    """Return the error of a step whose deadline has passed."""
    return errors.DeadlineExceededError(None, None, "Operation timed out.")


def _do_nothing() -> None:
    pass
