"""Threads that help a thread with a computation of many pieces.

TensorFlow has a pool of threads for this (`Shard` in core/util/work_sharder.cc).
"""

import functools
import os
import threading
from collections.abc import Callable

from capstan.hardware import blas, threads

Work = Callable[[int], None]
"""Computes the piece with this number. Threads compute different pieces at the same time."""


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
        return
    job = _Job(work, pieces)
    for _ in range(helpers):
        _helpers().start(job.run)
    job.run()
    job.wait()


class _Job:
    """The pieces of one computation."""

    def __init__(self, work: Work, pieces: int) -> None:
        self._work, self._pieces = work, iter(range(pieces))
        self._left = pieces
        """The number of pieces that are not finished."""
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._end = threading.Event()

    def run(self) -> None:
        """Work on pieces until all are taken."""
        # `next` of a range is one step of the interpreter, so no two threads get the same piece.
        for piece in self._pieces:
            try:
                if self._error is None:
                    self._work(piece)
            except BaseException as error:  # noqa: BLE001 - `wait` raises it
                self._error = error
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._end.set()

    def wait(self) -> None:
        """Wait for the pieces that other threads have taken. Raise the first error."""
        self._end.wait()
        if self._error is not None:
            raise self._error


@functools.cache
def _helpers() -> threads.DaemonThreads:
    return threads.DaemonThreads(os.cpu_count() or 1, "capstan-crew")


# A child does not have the threads of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
