"""The datasets that work ahead in threads: prefetch and parallel map.

NumPy and Python functions that wait release the lock of the interpreter, so their work overlaps
with the step and with the work of the other threads.
"""

import contextvars
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass

import numpy as np

from capstan.resources import dataset, dataset_functions
from capstan.resources.dataset import Dataset, Element, Run, Spec

AUTOTUNE = -1
AUTOTUNED = 16
"""The size of a buffer, and the number of calls, that TensorFlow would choose itself. A guess."""

_WORTH_A_THREAD_S = 1e-4
"""A pure function that takes less time is called in the thread of the reader: handing it to a
thread would take as long. The number is a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch(dataset.Dataset):
    """The elements of `source`, of which a thread holds up to `size` ready."""

    spec: Spec
    source: Dataset
    size: int

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source,)

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
        self.made: deque[tuple[Element | None, BaseException | None]] = deque()
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
            outcome = _outcome(self.source)
            with self.changed:
                self.made.append(outcome)
                self.changed.notify_all()
            if isinstance(outcome[1], StopIteration):
                return

    def stop(self) -> None:
        with self.changed:
            self.is_stopped = True
            self.changed.notify_all()


def _outcome(source: Iterator[Element]) -> tuple[Element | None, BaseException | None]:
    try:
        return next(source), None
    except BaseException as fault:  # noqa: BLE001 - the reader of the buffer raises it
        return None, fault


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
            _close_with(self, self._run, buffer.stop)
            _start(buffer.fill, "capstan-prefetch")
        with buffer.changed:
            while not buffer.made and not buffer.is_stopped:
                buffer.changed.wait()
            if not buffer.made:
                raise StopIteration
            element, fault = buffer.made[0]
            if not isinstance(fault, StopIteration):
                buffer.made.popleft()
                buffer.changed.notify_all()
        if fault is not None:
            raise fault
        assert element is not None
        return element


def _close_with(owner: object, run: Run, close: Callable[[], None]) -> None:
    """Call `close` when `run` is stopped, or when nothing refers to `owner` any more."""
    forget = run.on_stop(close)

    def end() -> None:
        forget()
        close()

    weakref.finalize(owner, end)


def _start(function: Callable[[], None], name: str) -> None:
    """Run `function` in a thread with a context of its own."""
    context = contextvars.Context()
    threading.Thread(target=context.run, args=(function,), name=name, daemon=True).start()


@dataclass(frozen=True, slots=True, eq=False)
class ParallelMap(dataset_functions.Map):
    """The results of the function, in order, of which up to `parallel` are computed at a time."""

    parallel: int

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        count = AUTOTUNED if self.parallel == AUTOTUNE else self.parallel
        source, function = self.source.start(run), self.function.bound()
        return _Parallel(function, source, count, run, is_patient=self.function.may_block)


class _Parallel(Iterator[Element]):
    """Calls a function in threads, or in the thread of the reader if a call is short."""

    def __init__(
        self,
        function: Callable[..., Element],
        source: Iterator[Element],
        count: int,
        run: Run,
        *,
        is_patient: bool,
    ) -> None:
        self._function, self._source, self._count, self._run = function, source, count, run
        self._pool: futures.ThreadPoolExecutor | None = None
        self._pending: deque[futures.Future[Element]] = deque()
        self._is_over = False
        self._tries = 0 if is_patient else 3

    def __next__(self) -> Element:
        if self._tries:
            began = time.perf_counter()
            element = self._function(*next(self._source))
            is_short = time.perf_counter() - began < _WORTH_A_THREAD_S
            self._tries = 3 if is_short else self._tries - 1
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
        return self._pending.popleft().result()

    def _submit(self, arguments: Element) -> "futures.Future[Element]":
        if self._pool is None:
            pool = self._pool = futures.ThreadPoolExecutor(self._count, "capstan-map", _be_silent)

            def close() -> None:
                pool.shutdown(wait=False, cancel_futures=True)

            _close_with(self, self._run, close)
        return self._pool.submit(self._function, *arguments)


def _be_silent() -> None:
    np.seterr(all="ignore")
