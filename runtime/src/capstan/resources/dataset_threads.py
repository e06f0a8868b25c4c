"""The datasets that work ahead in threads: prefetch and parallel map.

NumPy and Python functions that wait release the lock of the interpreter, so their work overlaps
with the step and with the work of the other threads.
"""

import contextvars
import functools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass

import numpy as np

from capstan.resources import dataset, dataset_functions, dataset_run
from capstan.resources.dataset import Element
from capstan.resources.dataset_run import Run

AUTOTUNE = -1
AUTOTUNED = 16
"""The size of a buffer, and the number of calls, that TensorFlow would choose itself. A guess."""

_WORTH_A_THREAD_S = 1e-4
"""A pure function that takes less time is called in the thread of the reader: handing it to a
thread would take as long. The number is a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch(dataset.Unary):
    """The elements of `source`. A thread keeps up to `size` elements ready."""

    size: int

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        size = AUTOTUNED if self.size == AUTOTUNE else self.size
        source = self.source.start(run)
        return _Ahead(source, size, run) if size else source


class _Buffer:
    """The elements that a thread has made, and the end. Thread-safe."""

    def __init__(self, source: Iterator[Element], size: int) -> None:
        self.source = source
        self.size = size
        self.changed = threading.Condition(threading.Lock())
        self.made: deque[tuple[Element, BaseException | None]] = deque()
        self.is_stopped = False

    def fill(self) -> None:
        """Make elements until the end, or until the buffer is stopped."""
        np.seterr(all="ignore")
        while True:
            with self.changed:
                while len(self.made) >= self.size and not self.is_stopped:
                    self.changed.wait()
                if self.is_stopped:
                    return
            outcome = _outcome(self.source.__next__)
            with self.changed:
                self.made.append(outcome)
                self.changed.notify_all()
            if isinstance(outcome[1], StopIteration):
                return
            del outcome

    def stop(self) -> None:
        with self.changed:
            self.is_stopped = True
            self.changed.notify_all()


def _outcome(make: Callable[[], Element]) -> tuple[Element, BaseException | None]:
    """Return the element that `make` makes, or its error."""
    try:
        return make(), None
    except BaseException as fault:  # noqa: BLE001 - the reader of the element raises it
        return (), fault


class _Ahead(Iterator[Element]):
    def __init__(self, source: Iterator[Element], size: int, run: Run) -> None:
        self._buffer = _Buffer(source, size)
        self._run = run
        self._has_begun = False

    def is_ready(self) -> bool:
        """Return whether `next` will not block."""
        return bool(self._buffer.made)

    def __next__(self) -> Element:
        buffer = self._buffer
        if not self._has_begun:
            self._has_begun = True
            self._run.close_with(self, buffer.stop)
            _start(buffer.fill, "capstan-prefetch")
        with buffer.changed:
            while not buffer.made and not buffer.is_stopped:
                buffer.changed.wait()
            if not buffer.made:
                raise dataset_run.stopped()
            element, fault = buffer.made[0]
            if isinstance(fault, StopIteration):
                raise StopIteration  # a new one, because each `raise` extends the traceback
            buffer.made.popleft()
            buffer.changed.notify_all()
        if fault is not None:
            raise fault
        return element


def _start(function: Callable[[], None], name: str) -> None:
    """Run `function` in a thread with a context of its own."""
    context = contextvars.Context()
    threading.Thread(target=context.run, args=(function,), name=name, daemon=True).start()


@dataclass(frozen=True, slots=True, eq=False)
class ParallelMap(dataset_functions.Map):
    """The results of the function, in order. Up to `parallel` results are computed at a time."""

    parallel: int

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        count = AUTOTUNED if self.parallel == AUTOTUNE else self.parallel
        source, function = self.source.start(run), self.function.bound(run)
        return _Parallel(function, source, count, run, may_block=self.function.may_block)


class _Parallel(Iterator[Element]):
    """Calls a function in threads, or in the thread of the reader if a call is short."""

    def __init__(
        self,
        function: Callable[..., Element],
        source: Iterator[Element],
        count: int,
        run: Run,
        *,
        may_block: bool,
    ) -> None:
        self._function, self._source, self._count, self._run = function, source, count, run
        self._calls: _Calls | None = None
        self._pending: deque[futures.Future[Element]] = deque()
        self._is_over = False
        self._calls_before_threads = 0 if may_block else 3

    def __next__(self) -> Element:
        if self._calls_before_threads:
            began = time.perf_counter()
            element = self._function(*next(self._source))
            is_short = time.perf_counter() - began < _WORTH_A_THREAD_S
            self._calls_before_threads = 3 if is_short else self._calls_before_threads - 1
            return element
        while not self._is_over and len(self._pending) < self._count:
            try:
                self._pending.append(self._submit(next(self._source)))
            except StopIteration:
                self._is_over = True
            except Exception as fault:  # noqa: BLE001 - raised in the place of the element
                failed: futures.Future[Element] = futures.Future()
                failed.set_exception(fault)
                self._pending.append(failed)
        if not self._pending:
            raise StopIteration
        try:
            return self._pending.popleft().result()
        except futures.CancelledError:
            raise dataset_run.stopped() from None

    def _submit(self, arguments: Element) -> "futures.Future[Element]":
        if self._calls is None:
            self._calls = _Calls(self._function, self._count)
            self._run.close_with(self, self._calls.close)
        return self._calls.submit(arguments)


class _Calls:
    """Calls of a function in up to `count` threads. Thread-safe.

    The threads do not delay the exit of the process, in contrast to those of `concurrent.futures`.
    """

    def __init__(self, function: Callable[..., Element], count: int) -> None:
        self._function, self._count = function, count
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[tuple[futures.Future[Element], Element] | None] = (
            queue.SimpleQueue()
        )
        self._unfinished: set[futures.Future[Element]] = set()
        self._threads = 0
        self._is_closed = False

    def submit(self, arguments: Element) -> "futures.Future[Element]":
        """Queue a call with `arguments` and return its future.

        If `close` was called before, the future is already cancelled.
        """
        future: futures.Future[Element] = futures.Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            self._unfinished.add(future)
            needs_thread = self._threads < self._count
            self._threads += needs_thread
        self._work.put((future, arguments))
        if needs_thread:
            _start(self._run, "capstan-map")
        return future

    def _run(self) -> None:
        np.seterr(all="ignore")
        while (task := self._work.get()) is not None:
            future, arguments = task
            result, fault = _outcome(functools.partial(self._function, *arguments))
            with self._lock:
                if future not in self._unfinished:
                    return  # closed
                self._unfinished.remove(future)
            if fault is not None:
                future.set_exception(fault)
            else:
                future.set_result(result)
            del task, future, arguments, result, fault

    def close(self) -> None:
        """Cancel the futures that have no result, and end the threads as their calls return."""
        with self._lock:
            self._is_closed = True
            unfinished, self._unfinished = self._unfinished, set()
            threads = self._threads
        for future in unfinished:
            future.cancel()
        for _ in range(threads):
            self._work.put(None)
