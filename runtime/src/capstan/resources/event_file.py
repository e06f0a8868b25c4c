"""Event files, which TensorBoard reads (core/util/events_writer.cc).

An event file is a TFRecord file of serialized `Event` messages. The first event names the version
of the format.
"""

import atexit
import contextlib
import itertools
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from capstan import errors
from capstan.core import tfrecord
from capstan.resources import files, uploads

_VERSION: Final = "brain.Event:2"


class EventFileWriter:
    """Writes events to a new file in the folder `logdir`, in a thread of its own. Thread-safe.

    `add_event` returns at once unless `max_queue` events wait to be written. Events reach the disk
    `flush_secs` seconds after the last flush, and at `flush`, `close` and the end of the process.
    The folder is made if it does not exist. `logdir` may be a URL such as `s3://bucket/logs`. The
    store then has the events of the last flush.

    If the file cannot be written, the constructor, `add_event`, `flush` and `close` raise the
    OpError, such as ResourceExhaustedError for a full disk.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = os.fspath(logdir)
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        files.of(self._logdir).make_folders(self._logdir or ".")
        self._is_open = False
        self._open()

    def _open(self) -> None:
        name = new_file(self._logdir, self._suffix)
        self._thread = _Thread(uploads.create(name), self._max_queue, self._flush_secs)
        self._thread.start()
        try:
            self._thread.put(version_record())
            self._thread.flush()
        except errors.OpError:
            with contextlib.suppress(errors.OpError):
                self._thread.finish()
            raise
        self._is_open = True
        # Programs often end without closing their writer.
        atexit.register(self.close)

    def get_logdir(self) -> str:
        """Return the folder of the file."""
        return self._logdir

    @property
    def is_open(self) -> bool:
        """Whether events are written."""
        return self._is_open

    def add_event(self, event: Any) -> None:
        """Write an `Event`. Does nothing if the writer is closed."""
        record = tfrecord.encode(event.SerializeToString())
        with self._lock:
            if self._is_open:
                self._thread.put(record)

    def flush(self) -> None:
        """Block until all events are in the file. Does nothing if the writer is closed."""
        with self._lock:
            if self._is_open:
                self._thread.flush()

    def close(self) -> None:
        """Write all events and close the file. Idempotent."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                atexit.unregister(self.close)
                self._thread.finish()

    def reopen(self) -> None:
        """Open a new file if the writer is closed."""
        with self._lock:
            if not self._is_open:
                self._open()


class _Thread:
    """The thread of one file. One other thread at a time calls its methods."""

    def __init__(self, file: uploads.GrowingFile, max_queue: int, flush_secs: float) -> None:
        self._file = file
        self._flush_secs = flush_secs
        self._jobs: queue.Queue[bytes | Callable[[], object]] = queue.Queue(max(1, max_queue))
        self._error: Exception | None = None
        self._is_done = False
        self._thread = threading.Thread(target=self._run, name="event-file", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, record: bytes) -> None:
        self._jobs.put(record)
        self._check()

    def flush(self) -> None:
        """Block until the file has all records. Raise the error of an earlier write."""
        done = threading.Event()
        self._jobs.put(self._file.flush)
        self._jobs.put(done.set)
        done.wait()
        self._check()

    def finish(self) -> None:
        """Write all records, close the file, and end the thread."""
        self._jobs.put(self._file.close)
        self._jobs.put(self._end)
        self._thread.join()
        self._check()

    def _end(self) -> None:
        self._is_done = True

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        next_flush = time.monotonic() + self._flush_secs
        has_news = False
        while not self._is_done:
            job = self._next(next_flush if has_news else None)
            try:
                if job is not None and not isinstance(job, bytes):
                    job()
                elif job is not None and self._error is None:
                    self._file.write(job)
                    has_news = True
                if has_news and time.monotonic() >= next_flush:
                    has_news = False
                    next_flush = time.monotonic() + self._flush_secs
                    self._file.flush()
            except Exception as error:  # noqa: BLE001, `_check` raises it
                # The thread goes on, so that nobody waits for it in vain.
                self._error = self._error or error

    def _next(self, due: float | None) -> bytes | Callable[[], object] | None:
        """Return the next job, or None if it is `due` before one comes."""
        try:
            if due is None:
                return self._jobs.get()
            left = max(0, due - time.monotonic())
            return self._jobs.get(timeout=min(left, threading.TIMEOUT_MAX))
        except queue.Empty:
            return None


def new_file(logdir: str, suffix: str) -> str:
    """Return the name of an event file that does not exist yet.

    The name holds the time, the host, the process, and a number that tells the files of one second
    apart. TensorBoard reads the files of a folder in the order of their names.
    """
    prefix = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
    names = (os.path.join(logdir, f"{prefix}.{count}{suffix}") for count in itertools.count())
    return next(name for name in names if not files.of(name).exists(name))


def version_record() -> bytes:
    """Return the first record of an event file."""
    from tensorboard.compat.proto import event_pb2

    event = event_pb2.Event(wall_time=time.time(), file_version=_VERSION)
    return tfrecord.encode(event.SerializeToString())


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Iterate over the `Event` messages of an event file.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is truncated or damaged.
    """
    from tensorboard.compat.proto import event_pb2

    with files.open_file(os.fspath(path)) as file:
        for record in tfrecord.records(file.read):
            yield event_pb2.Event.FromString(record)
