"""The threads that answer calls.

`concurrent.futures` waits for its threads when the interpreter ends; a call that blocks (a step
that waits for a queue, a session that waits for a task) would keep a process alive whose program is
over. These are daemons.
"""

import queue
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any

_Work = tuple["futures.Future[Any]", Callable[[], Any]]


class DaemonThreads(futures.Executor):
    """An executor of at most `limit` daemon threads, started when all others are busy."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._count = 0
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "futures.Future[Any]":
        """Run `fn` in one of the threads; waits for a free one only beyond the limit.

        Raises:
            RuntimeError: after `shutdown`, as every executor, or the system has no thread left.
        """
        future: futures.Future[Any] = futures.Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not self._idle.acquire(blocking=False) and self._count < self._limit:
                threading.Thread(
                    target=self._run, name=f"{self._name}-{self._count + 1}", daemon=True
                ).start()
                self._count += 1
            self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let every thread end after its present call; never waits for one."""
        with self._lock:
            self._ended = True
            for _ in range(self._count):
                self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            future, call = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - the future's
                    future.set_exception(error)
            self._idle.release()
