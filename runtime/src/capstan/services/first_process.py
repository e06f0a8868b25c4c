"""The first process of a container, and SIGTERM.

The kernel delivers to process 1 only signals that it has a handler for, and Python has none for
SIGTERM: every stop of such a container would take its whole grace period.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

_TERMINATED = 128 + signal.SIGTERM


def obey_sigterm() -> None:
    """Make SIGTERM end this process with status 143, if it is process 1 and has no handler.

    Does nothing in any other process, and none outside the main thread.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and is_deaf(os.getpid(), signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, _end)


def is_deaf(pid: int, handler: Any) -> bool:
    """Say whether a process with this handler of SIGTERM would not hear it.

    >>> is_deaf(1, signal.SIG_DFL), is_deaf(4711, signal.SIG_DFL), is_deaf(1, print)
    (True, False, False)
    """
    return pid == 1 and handler is signal.SIG_DFL


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(_TERMINATED)
