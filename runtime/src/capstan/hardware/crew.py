"""Threads that help a thread with a computation of many pieces.

TensorFlow has a pool of threads for this (`Shard` in core/util/work_sharder.cc). Here the caller
works alone for a while if its helpers had to wait for cores that other programs keep busy.
"""

import contextvars
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import Final

from capstan.hardware import blas, threads

Work = Callable[[int], None]
"""Computes the piece with this number. Threads compute different pieces at the same time."""

_LATE: Final = 3
"""A helper that takes this many times as long as the caller for a piece had to wait for a core."""

_LEAST_WAIT: Final = 1e-3
"""A shorter wait, in seconds, is no sign of busy cores."""

_PAUSE: Final = 10
"""A caller works alone for this many times as long as it waited, or longer."""

_LONGEST: Final = 1.0
"""The longest time, in seconds, for which a caller works alone."""


def share(work: Work, pieces: int) -> None:
    """Call `work` for each number below `pieces`, in the calling thread and in others.

    As many threads work as a product of NumPy's BLAS may have. Each takes a piece when it has
    finished one, so the caller never waits for a thread that has not begun. The call raises the
    first error of `work`, when no thread works on a piece any more.
    """
    helpers = min(blas.threads(), pieces) - 1
    if helpers < 1:
        for piece in range(pieces):
            work(piece)
    else:
        _crew().share(work, pieces, helpers)


class Pauses:
    """When a caller works alone, because its helpers found the cores busy.

    A pause is at least twice as long as the last one if the helpers were late again after it.
    """

    def __init__(self) -> None:
        self._end = 0.0
        self._length = 0.0

    def is_on(self, now: float) -> bool:
        return now < self._end

    def note(self, now: float, waited: float, piece: float) -> None:
        """Note how long a caller waited for its helpers in the end, and took for a piece."""
        if waited <= max(_LATE * piece, _LEAST_WAIT):
            self._length = 0.0
            return
        self._length = min(max(2 * self._length, _PAUSE * waited), _LONGEST)
        self._end = now + self._length


class _Crew:
    """The helpers of a process."""

    def __init__(self) -> None:
        self._threads = threads.DaemonThreads(os.cpu_count() or 1, "capstan-crew")
        self._pauses = Pauses()

    def share(self, work: Work, pieces: int, helpers: int) -> None:
        job = _Job(work, pieces)
        start = time.perf_counter()
        if not self._pauses.is_on(start):
            self._ask(job, helpers)
        try:
            done = job.run()
            middle = time.perf_counter()
        finally:  # also when the user interrupts the program
            job.end()
        job.check()
        if 0 < done < pieces:
            now = time.perf_counter()
            self._pauses.note(now, now - middle, (middle - start) / done)

    def _ask(self, job: "_Job", helpers: int) -> None:
        """Ask threads to help. They treat warnings of NumPy as the caller does."""
        try:
            for _ in range(helpers):
                self._threads.start(functools.partial(contextvars.copy_context().run, job.help))
        except RuntimeError:
            pass  # The system starts no thread, so the caller works alone.


class _Job:
    """The pieces of one computation."""

    def __init__(self, work: Work, pieces: int) -> None:
        self._work, self._pieces = work, iter(range(pieces))
        self._error: BaseException | None = None
        self._helping = 0
        """The number of helpers that may be at work."""
        self._changed = threading.Condition()

    def help(self) -> None:
        """Work on pieces, as a helper."""
        with self._changed:
            self._helping += 1
        try:
            self.run()
        finally:
            with self._changed:
                self._helping -= 1
                self._changed.notify_all()

    def run(self) -> int:
        """Work on pieces until all are taken. Return how many this thread has taken."""
        taken = 0
        # `next` of a range is one step of the interpreter, so no two threads get the same piece.
        for piece in self._pieces:
            taken += 1
            try:
                if self._error is None:
                    self._work(piece)
            except BaseException as error:  # noqa: BLE001 - `check` raises it
                self._error = error
        return taken

    def end(self) -> None:
        """Let no thread take another piece, and wait for the pieces that helpers have taken."""
        for _ in self._pieces:
            pass
        while self._helping:
            try:
                with self._changed:
                    self._changed.wait_for(lambda: not self._helping)
            except BaseException as error:  # noqa: BLE001 - `check` raises it
                self._error = error  # An interrupt. Helpers still write results.

    def check(self) -> None:
        """Raise the first error."""
        if self._error is not None:
            raise self._error


@functools.cache
def _crew() -> _Crew:
    return _Crew()


# A child does not have the threads of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.cache_clear)
