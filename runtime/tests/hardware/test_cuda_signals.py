"""Signals end the waits of a process, although NVRTC has set their handlers anew."""

import signal
import threading
from typing import Any

import background
import pytest
import signals

from capstan.hardware import cuda_signals


class Signalled(Exception):
    pass


class Nvrtc:
    """Does to the handler of SIGTERM what NVRTC does, once."""

    def __init__(self) -> None:
        self._is_first = True

    def createProgram(self, *_: Any) -> int:
        return 1

    def compileProgram(self, program: int, options: Any) -> None:
        if self._is_first:
            signal.siginterrupt(signal.SIGTERM, False)
        self._is_first = False

    def destroyProgram(self, program: int) -> None:
        pass


def test_a_signal_ends_a_wait_after_a_compilation() -> None:
    locked, started = threading.Lock(), threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def wait() -> None:
        with locked:
            pass

    def is_waiting() -> bool:
        frame = background.frame_of(main)
        return frame is not None and frame.f_code is wait.__code__

    with signals.raising(signal.SIGTERM, Signalled) as handled:

        def interrupt() -> None:
            with locked:
                started.set()
                signals.send(signal.SIGTERM, is_waiting, handled)

        nvrtc = Nvrtc()
        cuda_signals.keep_interrupts(nvrtc)
        nvrtc.compileProgram(1, ())
        interrupted = background.Background(interrupt)
        started.wait()
        with pytest.raises(Signalled):
            wait()
        interrupted.join()


def test_a_signal_that_python_does_not_handle_keeps_its_action() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        cuda_signals.keep_interrupts(Nvrtc())
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
