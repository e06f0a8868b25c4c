"""Files that grow, in stores that show a file only after its upload, such as `s3://`."""

import tempfile
from typing import BinaryIO, Protocol

from capstan.resources import file_names, files


class GrowingFile(Protocol):
    """A new file. Its methods raise the errors of `files`. Not thread-safe."""

    def write(self, content: bytes, /) -> object:
        """Append bytes."""

    def flush(self) -> None:
        """Show the bytes so far to readers. Blocks."""

    def close(self) -> None:
        """Flush, and close the file."""


def create(name: str) -> GrowingFile:
    """Create a file, or replace it. A file of this machine shows its bytes when its buffer is full.

    A file of a store is collected on this machine. Each flush uploads the file from its start, if
    it has grown.
    """
    if file_names.local_path(name) is None:
        return _Upload(name)
    return _Local(name, files.open_file(name, "wb"))


class _Local:
    """A file of this machine."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name = name
        self._file = file

    def write(self, content: bytes) -> None:
        with files.translated(self._name):
            self._file.write(content)

    def flush(self) -> None:
        with files.translated(self._name):
            self._file.flush()

    def close(self) -> None:
        with files.translated(self._name):
            self._file.close()


class _Upload:
    """A file that is uploaded again at each flush, because objects of a store cannot grow."""

    def __init__(self, name: str) -> None:
        self._name = name
        with files.translated(name):
            self._copy = tempfile.NamedTemporaryFile(prefix="capstan-")  # noqa: SIM115
        self._has_grown = True

    def write(self, content: bytes) -> None:
        with files.translated(self._copy.name):
            self._copy.write(content)
        self._has_grown = True

    def flush(self) -> None:
        if self._has_grown:
            with files.translated(self._copy.name):
                self._copy.flush()
            files.of(self._name).upload(self._copy.name, self._name)
            self._has_grown = False

    def close(self) -> None:
        try:
            self.flush()
        finally:
            with files.translated(self._copy.name):
                self._copy.close()
