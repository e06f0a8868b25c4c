"""A stream that computes nothing before somebody waits for it, for the devices of `strict`."""

import queue
import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from capstan import errors
from capstan.core import cancellation
from capstan.hardware import device


class LateStream(device.Stream):
    """Begins its work when a caller waits for the stream. The work runs in the stream's thread."""

    def __init__(self, refuse_recording: Callable[[str], None]) -> None:
        self.refuse_recording = refuse_recording
        self._lock = threading.Lock()
        self._work: list[Callable[[], None]] = []
        self._failed: errors.OpError | None = None
        self._batches: queue.SimpleQueue[list[Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="strict-stream", daemon=True).start()

    def enqueue(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._work.append(work)

    def then(self, passed: device.Passed, idle: cancellation.Submit | None = None) -> None:
        self.refuse_recording("then")
        if idle is None:
            self._begin(lambda: passed(self._failed))
            return
        reached = threading.Event()
        self._begin(reached.set)

        def wait() -> None:
            reached.wait()
            passed(self._failed)

        idle(wait)

    def _begin(self, last: Callable[[], None]) -> None:
        with self._lock:
            batch, self._work = self._work, []
            self._batches.put([*batch, last])

    def let_go(self) -> None:
        """Do all work, so that its arrays are free. Those of a GPU are free without waiting."""
        done = threading.Event()
        self._begin(done.set)
        done.wait()

    def mark(self) -> Callable[[], None]:
        """Return a function that begins the present work, and waits until it is done.

        The work of a stream may wait for work that another stream got earlier. It never waits for
        later work, so streams do not wait for each other in a circle.
        """
        reached = threading.Event()
        self.enqueue(reached.set)

        def wait() -> None:
            self.then(lambda _: None)
            reached.wait()
            if self._failed is not None:
                raise self._failed

        return wait

    def synchronize(self) -> None:
        done = threading.Event()
        self.then(lambda _: done.set())
        done.wait()
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        while True:
            batch = deque(self._batches.get())
            while batch:
                work = batch.popleft()
                try:
                    with np.errstate(all="ignore"):
                        work()
                except Exception as fault:  # noqa: BLE001 - the next `then` reports it
                    self._failed = self._failed or errors.from_exception(fault)
                del work  # Its arrays are free before somebody hears that it is done.
