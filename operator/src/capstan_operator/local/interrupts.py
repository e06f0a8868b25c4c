"""Turn signals into something to wait for, so that none interrupts the code in an action."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """The signals that ask this process to end. `fileno` is readable after a signal came."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._received: list[int] = []

    def fileno(self) -> int:
        return self._reader

    def take(self) -> int | None:
        """Return the last signal since the last call, or None if there was none."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass
        received, self._received = self._received, []
        return received[-1] if received else None

    def _receive(self, number: int, _: FrameType | None) -> None:
        self._received.append(number)


@contextlib.contextmanager
def catch() -> Iterator[Interrupts]:
    """Catch SIGINT, SIGTERM and SIGHUP in the body. Only the main thread may call this.

    If SIGHUP was ignored (`nohup`), it stays ignored. SIGINT is caught even if it was ignored.
    Shells ignore it for background commands, and these must not leave processes behind, either.
    """
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    interrupts = Interrupts(reader)
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {number: signal.getsignal(number) for number in _STOPS}
    for number, handler in handlers.items():
        if number != signal.SIGHUP or handler is not signal.SIG_IGN:
            signal.signal(number, interrupts._receive)
    try:
        yield interrupts
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        os.close(writer)
        os.close(reader)
