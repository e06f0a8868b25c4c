"""The datasets that read files: lines, TFRecords, records of equal length (reader_dataset_ops.cc).

A file is opened when its first record is asked for.
"""

import functools
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from capstan import errors
from capstan.core import arrays, attr_value, tfrecord
from capstan.resources import dataset, dataset_blocks, elements, record_files
from capstan.resources.dataset import Block, Element, Spec
from capstan.resources.dataset_run import Run

Record = TypeVar("Record")

Open = Callable[[str], tuple[BinaryIO, Iterator[bytes]]]
"""Opens a file, and returns its records too. Raises an OpError if this is impossible."""


@dataclass(frozen=True, slots=True, eq=False)
class Files(dataset.Dataset):
    """The records of files, one file after the other."""

    spec: Spec
    names: tuple[bytes, ...]
    open_file: Open

    def start(self, run: Run) -> Iterator[Element]:
        return map(_element, Records(self.names, self.open_file, run))

    def blocks(self, run: Run, size: int) -> Iterator[Block]:
        records = Records(self.names, self.open_file, run)
        return dataset_blocks.Blocks(lambda: _block(records.take(size)))


def _element(record: bytes) -> Element:
    return (elements.scalar(record),)


def _block(records: Sequence[bytes]) -> Block | None:
    return (arrays.strings(records, (len(records),)),) if records else None


class Records(Iterator[Record]):
    """The records of files. After the error of a file, reading goes on with the next file."""

    def __init__(
        self,
        names: tuple[bytes, ...],
        open_file: Callable[[str], tuple[BinaryIO, Iterator[Record]]],
        run: Run,
    ) -> None:
        self._names, self._open = names, open_file
        self._index = 0
        self._files: list[BinaryIO] = []
        self._records: Iterator[Record] = iter(())
        self._error: errors.OpError | None = None
        run.close_with(self, functools.partial(_close, self._files))

    def __next__(self) -> Record:
        for record in self.take(1):
            return record
        raise StopIteration

    def take(self, count: int) -> list[Record]:
        """Return the next records, fewer than `count` only before an error and at the end.

        Raises:
            OpError: the next record has an error. The call before returned the records before it.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        found: list[Record] = []
        while len(found) < count and self._index < len(self._names):
            try:
                if not self._files:
                    name = attr_value.text(self._names[self._index])
                    file, self._records = self._open(name)
                    self._files.append(file)
                # An error leaves the records before it in the list.
                found += itertools.islice(self._records, count - len(found))
            except errors.OpError as error:
                self._close()
                if not found:
                    raise
                self._error = error
                break
            if len(found) < count:
                self._close()
        return found

    def _close(self) -> None:
        _close(self._files)
        self._index += 1


def _close(opened: list[BinaryIO]) -> None:
    """Close the file that is open, if there is one."""
    while opened:
        opened.pop().close()


def lines(compression: str, name: str) -> tuple[BinaryIO, Iterator[bytes]]:
    """Open a text file. Its records are its lines, without the line breaks."""
    file = record_files.opened(name, compression)
    return file, map(record_files.stripped, iter(file.readline, b""))


def records(compression: str, name: str, offset: int = 0) -> tuple[BinaryIO, Iterator[bytes]]:
    """Open a TFRecord file, `offset` bytes after its beginning."""
    file = record_files.opened(name, compression)
    if offset:
        file.seek(offset)
    return file, tfrecord.records(file.read)


def fixed(
    header: int, length: int, footer: int, compression: str, name: str
) -> tuple[BinaryIO, Iterator[bytes]]:
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
    return file, (file.read(length) for _ in range(body // length))
