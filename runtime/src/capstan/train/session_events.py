"""Writes events through a session (python/summary/writer/event_file_writer_v2.py)."""

import os
import threading
from typing import Any

from capstan.api import creation_ops
from capstan.train import graph_summaries, graph_writers


class SessionEventWriter:
    """Writes events to a new file in the folder `logdir` by operations that a session runs.

    The task of the session makes the file, so the folder is one of this task. The operations are
    added to the session's graph. The methods block until the session has run them, and raise its
    errors. Thread-safe.

    Raises:
        RuntimeError: the graph of the session is finalized.
        OpError: the task cannot write the file.
    """

    def __init__(
        self,
        session: Any,
        logdir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._session = session
        self._logdir = os.fspath(logdir)
        self._lock = threading.Lock()
        graph = session.graph
        with graph.as_default(), graph.name_scope("filewriter"):
            writer = graph_writers.create_file_writer(
                self._logdir, max_queue, int(flush_secs * 1000), filename_suffix
            )
            with writer.as_default():
                self._event = creation_ops.placeholder_with_default("unused", [])
                self._add = graph_summaries.import_event(self._event)
            self._init, self._flush, self._close = writer.init(), writer.flush(), writer.close()
        self._is_open = False
        self.reopen()

    def get_logdir(self) -> str:
        """Return the folder of the event file."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Write an `Event`, unless the writer is closed."""
        with self._lock:
            if self._is_open:
                self._session.run(self._add, {self._event: event.SerializeToString()})

    def flush(self) -> None:
        """Block until all events are in the file."""
        with self._lock:
            if self._is_open:
                self._session.run(self._flush)

    def close(self) -> None:
        """Write all events and close the file. Idempotent. Later events are dropped."""
        with self._lock:
            if self._is_open:
                self._session.run(self._flush)
                self._session.run(self._close)
                self._is_open = False

    def reopen(self) -> None:
        """Open a new file in the same folder if the writer is closed."""
        with self._lock:
            if not self._is_open:
                self._session.run(self._init)
                self._is_open = True
