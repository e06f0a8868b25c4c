"""A stop signal for the threads of one training loop (python/training/coordinator.py).

A thread that wants all threads to stop calls `request_stop`, with or without an error. Every
thread calls `should_stop` regularly. `join` waits for the threads and raises the first reported
error.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from capstan import errors
from capstan.api import logging

_Reported = BaseException | tuple[Any, BaseException | None, TracebackType | None]


class Coordinator:
    """A stop signal with a reason. Thread-safe.

    Errors of `clean_stop_exception_types` stop the threads, but `join` does not raise them. The
    default is OutOfRangeError, which reports the end of the input.
    """

    def __init__(
        self, clean_stop_exception_types: Sequence[type[BaseException]] | None = None
    ) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._registered_threads: set[threading.Thread] = set()
        self._joined = False

    def request_stop(self, ex: _Reported | None = None) -> None:
        """Ask all threads to stop. `ex` is the reason: an error, or a result of `sys.exc_info`.

        Only the first call counts until `clear_stop`. After `join` has returned, this method
        raises `ex`, unless `ex` is of a clean-stop type.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            if error is not None and isinstance(error, self._clean):
                error = None
            if self._joined:
                if error is not None:
                    raise error
                return
            if self._stop.is_set():
                return
            if error is not None:
                logging.info("Error reported to Coordinator: %s, %s", type(error).__name__, error)
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Withdraw the stop and its error, so that threads may run again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Report an error of the block by `request_stop` instead of raising it."""
        try:
            yield
        except BaseException:  # noqa: BLE001, reported: `join` raises it
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Block until a stop is requested, and return True.

        Return False if `timeout` seconds pass without a stop.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for `thread` as well."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until the registered threads and `threads` have ended, then raise a reported error.

        Once a stop is requested, the threads have `stop_grace_period_secs` seconds to end.

        Raises:
            RuntimeError: threads still run after the grace period, and no error was reported.
        """
        with self._lock:
            waiting = self._registered_threads | set(threads or ())
        while any(thread.is_alive() for thread in waiting) and not self.wait_for_stop(1.0):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            # One of the threads may itself call `join`. That thread cannot wait for itself.
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        alive = [thread.name for thread in waiting if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")
        if alive:
            logging.info("Coordinator stopped with threads still running: %s", " ".join(alive))

    @property
    def joined(self) -> bool:
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the error that a thread reported, if one did."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """Calls `target` every `timer_interval_secs` seconds until the coordinator stops.

    An interval of None leaves no pause between the calls. The thread registers itself.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"'coord' argument must be a Coordinator: {coord}"
            )
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = target
        self._call_args = tuple(args or ())
        self._call_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> "LooperThread":
        """Start a thread that calls `target(*args, **kwargs)`, and return it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                due += self._interval or 0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once when the thread starts."""

    def stop_loop(self) -> None:
        """Called once when the thread stops without an error."""

    def run_loop(self) -> None:
        """Called at every interval. This method of the base class calls `target`."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
