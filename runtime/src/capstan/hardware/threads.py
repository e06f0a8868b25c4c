"""A thread pool of daemon threads.

`concurrent.futures` waits for its threads when the interpreter exits. A blocked call, such as a
step that waits for a queue, would keep the process alive after its program has ended. Daemon
threads do not.
"""

import functools
import logging
import queue
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any

Work = Callable[[], object]


class DaemonThreads(futures.Executor):
    """An executor of at most `limit` daemon threads. It starts one when all others are busy."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._idle = 0
        """The number of idle threads, minus the number of calls that wait for a thread."""
        self._lock = threading.Lock()
        self._count = 0
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "futures.Future[Any]":
        """Run `fn` in one of the threads. If all are busy, the call is queued until one is free.

        Raises:
            RuntimeError: `shutdown` was called, or the system cannot start the first thread.
        """
        future: futures.Future[Any] = futures.Future()
        self.start(functools.partial(_settle, future, functools.partial(fn, *args, **kwargs)))
        return future

    def start(self, work: Work) -> None:
        """Run `work`, which must not raise, as `submit` does. Its result is dropped."""
        with self._lock:
            if self._ended:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._idle <= 0 and self._count < self._limit:
                self._start_thread()
            self._idle -= 1
            self._work.put(work)

    def _start_thread(self) -> None:
        """Start another thread. If the system cannot, the present threads do the work.

        Raises:
            RuntimeError: the system cannot, and there is no thread yet.
        """
        name = f"{self._name}-{self._count + 1}"
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            if not self._count:
                raise
        else:
            self._count += 1
            self._idle += 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End each thread after the calls submitted so far. Never waits, whatever `wait` says."""
        with self._lock:
            self._ended = True
            for _ in range(self._count):
                self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except BaseException:
                logging.getLogger("capstan").exception("a thread of %s failed", self._name)
            del work  # It may hold the memory of a step, and the next work may come late.
            with self._lock:
                self._idle += 1


def _settle(future: "futures.Future[Any]", call: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the future raises it
            future.set_exception(error)
