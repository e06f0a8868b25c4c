"""Wait until something is true: the one loop of the tests and of the test bed that polls."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_SECONDS = 90.0
"""How long tests wait unless they say otherwise. A busy machine needs time, and Kubernetes may take
half a minute before it collects objects of a new kind."""

_TICK_SECONDS = 0.05


def until(
    condition: Callable[[], Found | None],
    within: float = PATIENCE_SECONDS,
    else_show: Callable[[], object] | None = None,
) -> Found:
    """Call `condition` until it returns something true, and return that.

    A condition that raises AssertionError does not hold yet; any other exception ends the wait.
    After `within` seconds, raises AssertionError with the condition's last result or error, or
    with what `else_show` returns then. Blocks; threads may call it side by side.
    """
    deadline = time.monotonic() + within
    never = threading.Event()
    while True:
        last: object
        try:
            last = found = condition()
            if found:
                return found
        except AssertionError as error:
            last = error
        if time.monotonic() >= deadline:
            shown = else_show() if else_show else last
            raise AssertionError(f"not true within {within:g} s; at the end: {shown}")
        never.wait(_TICK_SECONDS)
