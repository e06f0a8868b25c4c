"""Signals that end a wait, in a process that compiles for GPUs."""

import functools
import signal
from typing import Any

_SET_ANEW = (signal.SIGINT, signal.SIGTERM)
"""The signals whose handlers NVRTC sets anew."""


@functools.cache
def keep_interrupts(nvrtc: Any) -> None:
    """Let SIGINT and SIGTERM end the waits of the main thread, also after a compilation.

    `nvrtc` is the module `cupy.cuda.nvrtc`. The first compilation of NVRTC in a process sets the
    handlers of these signals anew, with the flag SA_RESTART (seen with NVRTC 13.0). The system then
    continues a wait after a signal, and Python never calls the handler. So this function compiles
    an empty text, which takes some 40 ms, and removes the flag.
    """
    program = nvrtc.createProgram("", "empty.cu", (), ())
    nvrtc.compileProgram(program, ())
    nvrtc.destroyProgram(program)
    for number in _SET_ANEW:
        if callable(signal.getsignal(number)):
            signal.siginterrupt(number, True)
