"""`pywrap_tensorflow.EventsWriter`: an event file that a program writes without a thread.

Source: tensorflow/core/util/events_writer.cc and tensorflow/python/util/events_writer.i.
"""

import os
import socket
import time
from typing import Any

from capstan.core import tfrecord
from capstan.resources import event_file, uploads


class EventsWriter:
    """Writes `Event` messages to a file whose name begins with `file_prefix`. Not thread-safe.

    The file is made for its first event, or when its name is asked for. An event after `Close`
    begins a new file. The folder of the prefix must exist.
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        self._prefix = os.fsdecode(file_prefix)
        self._suffix = ""
        self._name: str | None = None
        self._file: uploads.GrowingFile | None = None

    def InitWithSuffix(self, suffix: str | bytes) -> None:
        """Begin a new file whose name ends with `suffix`, unless the current file is that.

        Raises:
            NotFoundError: the folder does not exist.
        """
        ending = os.fsdecode(suffix)
        if self._file is None or ending != self._suffix:
            self.Close()
            self._suffix = ending
            self._opened()

    def FileName(self) -> str:
        """Return the name of the file.

        Raises:
            NotFoundError: the folder does not exist.
        """
        self._opened()
        assert self._name is not None
        return self._name

    def WriteEvent(self, event: Any) -> None:
        """Append an event. `Flush` and `Close` show it to readers.

        Raises:
            NotFoundError: the folder does not exist.
            TypeError: `event` is not an `Event`.
        """
        from tensorboard.compat.proto import event_pb2

        if not isinstance(event, event_pb2.Event):
            raise TypeError(f"Expected an event_pb2.Event proto, but got {type(event)}")
        self._opened().write(tfrecord.encode(event.SerializeToString()))

    def Flush(self) -> None:
        """Show all events to readers. Blocks."""
        if self._file is not None:
            self._file.flush()

    def Close(self) -> None:
        """Write all events and close the file. Idempotent."""
        if self._file is not None:
            closed, self._file = self._file, None
            closed.close()

    def _opened(self) -> uploads.GrowingFile:
        if self._file is None:
            start = f"{self._prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
            self._name = f"{start}{self._suffix}"
            self._file = uploads.create(self._name)
            self._file.write(event_file.version_record())
        return self._file
