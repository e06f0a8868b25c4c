"""SIGTERM for the first process of a container.

The kernel delivers a signal to process 1 only if the process has a handler for the signal. Python
has no handler for SIGTERM, so without this module every stop of a container would take its whole
grace period.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

TERMINATED = 128 + signal.SIGTERM


def obey_sigterm() -> None:
    """Make SIGTERM end this process with status 143, if it is process 1 and has no handler.

    In any other process, or outside the main thread, this does nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and ignores_sigterm(os.getpid(), signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, _end)


def may_set_sigterm() -> bool:
    """Return whether this thread may set a handler for SIGTERM and the program has set none."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _end)


def ignores_sigterm(pid: int, handler: Any) -> bool:
    """Return whether the kernel would drop SIGTERM for a process with this handler.

    >>> ignores_sigterm(1, signal.SIG_DFL), ignores_sigterm(1, print)
    (True, False)
    >>> ignores_sigterm(4711, signal.SIG_DFL)
    False
    """
    return pid == 1 and handler is signal.SIG_DFL


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(TERMINATED)
