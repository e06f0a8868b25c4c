"""What a test writes to a stream such as `sys.stdout` (python/framework/test_util.py)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CapturedWrites:
    """The writes of one block of a test."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        """Return all that the block has written."""
        with open(self._path, encoding="utf-8") as file:
            return file.read()


@contextmanager
def captured(stream: Any, path: str) -> Iterator[CapturedWrites]:
    """Let the writes to a stream go into the file `path` until the end of the block.

    The writes of other libraries to the file descriptor of the stream are captured, too.
    """
    stream.flush()
    descriptor = stream.fileno()
    kept = os.dup(descriptor)
    with open(path, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), descriptor)
    try:
        yield CapturedWrites(path)
    finally:
        stream.flush()
        os.dup2(kept, descriptor)
        os.close(kept)
