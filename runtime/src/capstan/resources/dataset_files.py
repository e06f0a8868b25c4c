"""The datasets that read files: lines, TFRecords, records of equal length (reader_dataset_ops.cc).

A file is opened when its first record is asked for.
"""

import functools
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from capstan import errors
from capstan.core import attr_value, tfrecord
from capstan.resources import dataset, elements, record_files
from capstan.resources.dataset import Element, Run, Spec

Read = Callable[[], bytes | None]
"""Returns the next record of a file, or None at its end."""

Open = Callable[[str], tuple[BinaryIO, Read]]
"""Opens a file. Raises an OpError if this is impossible."""


@dataclass(frozen=True, slots=True, eq=False)
class Files(dataset.Dataset):
    """The records of files, one file after the other."""

    spec: Spec
    names: tuple[bytes, ...]
    open_file: Open

    def start(self, run: Run) -> Iterator[Element]:
        return _Records(self.names, self.open_file, run)


class _Records(Iterator[Element]):
    """The records. After the error of a file, reading goes on with the next file."""

    def __init__(self, names: tuple[bytes, ...], open_file: Open, run: Run) -> None:
        self._names, self._open = names, open_file
        self._index = 0
        self._files: list[BinaryIO] = []
        self._read: Read = bytes
        run.close_with(self, functools.partial(_close, self._files))

    def __next__(self) -> Element:
        while self._index < len(self._names):
            try:
                if not self._files:
                    name = attr_value.text(self._names[self._index])
                    file, self._read = self._open(name)
                    self._files.append(file)
                record = self._read()
            except errors.OpError:
                self._close()
                raise
            if record is not None:
                return (elements.scalar(record),)
            self._close()
        raise StopIteration

    def _close(self) -> None:
        _close(self._files)
        self._index += 1


def _close(opened: list[BinaryIO]) -> None:
    """Close the file that is open, if there is one."""
    while opened:
        opened.pop().close()


def lines(compression: str, name: str) -> tuple[BinaryIO, Read]:
    """Open a text file. Its records are its lines, without the line breaks."""
    file = record_files.opened(name, compression)

    def read() -> bytes | None:
        line = file.readline()
        return record_files.stripped(line) if line else None

    return file, read


def records(compression: str, name: str) -> tuple[BinaryIO, Read]:
    """Open a TFRecord file."""
    file = record_files.opened(name, compression)
    offset = 0

    def read() -> bytes | None:
        nonlocal offset
        record = tfrecord.read(file.read, offset)
        if record is not None:
            offset += tfrecord.HEADER_SIZE + len(record) + tfrecord.FOOTER_SIZE
        return record

    return file, read


def fixed(
    header: int, length: int, footer: int, compression: str, name: str
) -> tuple[BinaryIO, Read]:
    """Open a file with a header, records of `length` bytes, and a footer.

    Raises:
        InvalidArgumentError: the file does not consist of whole records.
    """
    file = record_files.opened(name, compression)
    if compression:
        content = file.read()
        file.close()
        file = io.BytesIO(content)
    body = file.seek(0, io.SEEK_END) - header - footer
    if body < 0 or body % length:
        file.close()
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f'"{name}" has body length {body} bytes, which is not an exact multiple of the record '
            f"length ({length} bytes).",
        )
    file.seek(header)
    left = body // length

    def read() -> bytes | None:
        nonlocal left
        if not left:
            return None
        left -= 1
        return file.read(length)

    return file, read
