"""The writers of summaries that nodes share by name (core/kernels/summary_interface.h)."""

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from capstan import errors
from capstan.core import resource_name
from capstan.resources import resource


class EventWriter(Protocol):
    """A writer of events: to an event file, or to a database."""

    @property
    def is_open(self) -> bool: ...

    def add_event(self, event: Any, /) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class SummaryWriter(resource.Resource):
    """A writer of summaries, which `open` opens. Thread-safe.

    `flush` and `close` block until the events are in the file.
    """

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._file: EventWriter | None = None

    def open(self, make: Callable[[], EventWriter]) -> None:
        """Write to what `make` opens. Does nothing if a file is open."""
        with self._lock:
            if self._file is None:
                self._file = make()
                # The writer goes with the session of its process, which nobody need close.
                weakref.finalize(self, _close_aside, self._file)

    def write(self, event: Any) -> None:
        """Write an `Event`. The wall time is the present if the event has none.

        Raises:
            NotFoundError: no file is open.
        """
        if not event.wall_time:
            event.wall_time = time.time()
        self._opened().add_event(event)

    def flush(self) -> None:
        """Block until all events are in the file.

        Raises:
            NotFoundError: no file is open.
        """
        self._opened().flush()

    def close(self) -> None:
        """Write all events and close the file. `open` may then open another file.

        Raises:
            NotFoundError: no file is open.
        """
        opened = self._opened()
        with self._lock:
            self._file = None
        opened.close()

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            opened, self._file = self._file, None
        if opened is not None:
            opened.close()

    def _opened(self) -> EventWriter:
        opened = self._file
        if opened is None:
            raise errors.NotFoundError(
                None,
                None,
                f"Resource {self.container}/{self.name}/SummaryWriterInterface does not exist. Run "
                "the initializer of the summary writer first",
            )
        return opened


def _close_aside(file: EventWriter) -> None:
    """Close a file in a thread of its own: the collector of garbage may run in any thread."""
    if file.is_open:
        threading.Thread(target=file.close, name="event-file-end", daemon=True).start()
