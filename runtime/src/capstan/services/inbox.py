"""Lets the thread of a step wait for work from other threads and for data on links."""

import contextlib
import os
import queue
import select
import threading
import time
from collections.abc import Callable, Collection, Mapping

from capstan import errors
from capstan.transport import api

_POLL_SECONDS = 0.5
"""A step that waits for several tasks notices within this time that a link was closed."""


class Inbox:
    """A queue of functions, which the thread of a step runs. `submit` is thread-safe."""

    def __init__(self, *, polled: bool) -> None:
        """If `polled`, `fileno` returns a descriptor to poll together with others."""
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
                with contextlib.suppress(BlockingIOError):  # A full pipe is readable.
                    os.write(self._pipe[1], b"\0")

    def wake(self) -> None:
        """Wake the waiting thread, so that it checks the state of the step. Never blocks."""
        self.submit(_do_nothing)

    def fileno(self) -> int:
        """Return a descriptor that polls as readable when there is work, or -1."""
        return self._pipe[0] if self._pipe is not None else -1

    def run_next(self, deadline: float | None) -> None:
        """Wait for a function and run it.

        Raises:
            DeadlineExceededError: no function came before `deadline`, in seconds of
                `time.monotonic`.
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

    def readable(
        self, links: Mapping[str, api.Link], tasks: Collection[str], deadline: float | None
    ) -> str | None:
        """Return one of `tasks` whose link has data to read, or None if there may be work.

        If only data of one task can come, return this task at once. Otherwise wait.

        Raises:
            DeadlineExceededError: neither data nor work came before `deadline`.
        """
        if len(tasks) == 1 and self.fileno() < 0:
            (task,) = tasks
            return task
        while (found := self._poll(links, tasks, deadline)) == "":
            require_before(deadline)
        return found

    def _poll(
        self, links: Mapping[str, api.Link], tasks: Collection[str], deadline: float | None
    ) -> str | None:
        """Wait a short time for data on a link, or for work.

        Return the task of the link, None for work, or "" if neither came. If a link is closed
        during the wait, the next call finds it.
        """
        poller = select.poll()
        if self.fileno() >= 0:
            poller.register(self.fileno(), select.POLLIN)
        found: dict[int, str] = {}
        for task in tasks:
            link = links[task]
            if link.pending():
                return task
            descriptor = link.fileno()
            if descriptor < 0:
                return task  # the link is closed, and its `recv` raises the reason
            found[descriptor] = task
            poller.register(descriptor, select.POLLIN)
        patience = _POLL_SECONDS
        if deadline is not None:
            patience = min(patience, max(0.0, deadline - time.monotonic()))
        ready = poller.poll(patience * 1000)
        return found.get(ready[0][0]) if ready else ""

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
