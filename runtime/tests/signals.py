"""Signals that reach the main thread while it waits."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import background


@contextmanager
def raising(number: signal.Signals, error: type[BaseException]) -> Iterator[threading.Event]:
    """Let the first signal `number` raise an error in the main thread. Others do nothing.

    Yield the event that is set when the error is raised.
    """
    handled = threading.Event()

    def handle(*_: object) -> None:
        if not handled.is_set():
            handled.set()
            raise error

    before = signal.signal(number, handle)
    try:
        yield handled
    finally:
        signal.signal(number, before)


def send(number: signal.Signals, is_waiting: Callable[[], bool], handled: threading.Event) -> None:
    """When the main thread waits, send it a signal until it has handled one.

    Python handles signals between two instructions. A signal that comes after the last instruction
    before a wait does not end the wait.
    """
    main = threading.main_thread().ident
    assert main is not None
    background.until(is_waiting)
    background.until(lambda: handled.is_set() or signal.pthread_kill(main, number))
