"""Wait for a condition. This is the only loop of the tests and of the test bed that polls."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_SECONDS = 90.0
"""The default time that tests wait. A busy machine needs time, and Kubernetes may take half a
minute before it collects objects of a new kind."""

_TICK_SECONDS = 0.05


def until(
    condition: Callable[[], Found | None],
    within: float = PATIENCE_SECONDS,
    else_show: Callable[[], object] | None = None,
    tick: float = _TICK_SECONDS,
) -> Found:
    """Call `condition` until its result is true, with pauses of `tick` seconds, and return that
    result.

    A condition that raises AssertionError does not hold yet. Any other exception ends the wait.
    After `within` seconds, looks once more: the machine may have paused. Then raises AssertionError
    with the condition's last result or error, or with the result of `else_show`. Blocks. Threads
    may call it in parallel.
    """
    deadline = time.monotonic() + within
    never = threading.Event()
    while True:
        last: object
        is_over = time.monotonic() >= deadline
        try:
            last = found = condition()
            if found:
                return found
        except AssertionError as error:
            last = error
        if is_over:
            shown = else_show() if else_show else last
            raise AssertionError(f"not true within {within:g} s; at the end: {shown}")
        never.wait(tick)
