"""The newest report of the training in this process, which the servers of the process show."""

from typing import Final

NOTHING: Final = b"{}"
"""The report of a process that has not trained yet."""


class Progress:
    """Holds one report, a JSON document. Thread-safe."""

    def __init__(self) -> None:
        self._report = NOTHING

    def show(self, report: str) -> None:
        """Replace the report."""
        self._report = report.encode()

    def read(self) -> bytes:
        """Return the report as UTF-8."""
        return self._report
