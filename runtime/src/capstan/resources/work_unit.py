"""The work units of readers: elements of a queue, such as the names of files."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.resources import record_files, waiters


class WorkUnit:
    """An element of the queue that a read waits for. The queue calls it once."""

    def __init__(self, arrived_late: Callable[["WorkUnit"], None]) -> None:
        self._lock = threading.Lock()
        self._arrived_late = arrived_late
        self._has_arrived = self._is_awaited = False
        self.components: Sequence[Any] = ()
        self.error: errors.OpError | None = None

    def __call__(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
        /,
    ) -> bool:
        with self._lock:
            self.components, self.error = outputs, error
            self._has_arrived, is_late = True, self._is_awaited
        if is_late:
            self._arrived_late(self)
        return True

    def has_arrived(self) -> bool:
        """Return whether the element is there. If not, `arrived_late` is called when it comes."""
        with self._lock:
            self._is_awaited = True
            return self._has_arrived

    def opened(
        self, open_records: record_files.Open
    ) -> tuple[bytes, record_files.Records | None, errors.OpError | None]:
        """Open the work unit. Return its name, and its records or the error. May block."""
        if self.error is not None:
            return b"", None, self.error
        if self.components[0].size != 1:
            problem = "Expected to dequeue a one-element string tensor"
            return b"", None, errors.InvalidArgumentError(None, None, problem)
        work = self.components[0].item()
        try:
            return work, open_records(work), None
        except Exception as fault:  # noqa: BLE001 - the error of the step
            return work, None, errors.from_exception(fault)
