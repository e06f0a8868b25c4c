"""Pauses and log lines of a task that waits for another task."""

import time
from collections.abc import Iterator

from capstan.api import logging

_FIRST_SECS = 0.05
LONGEST_SECS = 0.5
"""The longest pause between two checks of a condition that another task makes true."""
_LOG_SECS = 30.0


def pauses(longest: float) -> Iterator[float]:
    """Yield pauses in seconds. They double from 0.05 to 0.5, but never exceed `longest`.

    >>> [pause for pause, _ in zip(pauses(30), range(5))]
    [0.05, 0.1, 0.2, 0.4, 0.5]
    """
    pause = _FIRST_SECS
    while True:
        yield min(pause, longest)
        pause = min(2 * pause, LONGEST_SECS)


class Log:
    """Logs the state of a wait when the state changes, and otherwise every half minute."""

    def __init__(self) -> None:
        self._last = ""
        self._due = 0.0

    def note(self, text: str) -> None:
        """Log `text`, unless it is the last text and was logged less than 30 seconds ago."""
        now = time.monotonic()
        if text != self._last or now >= self._due:
            self._last, self._due = text, now + _LOG_SECS
            logging.info("%s", text)
