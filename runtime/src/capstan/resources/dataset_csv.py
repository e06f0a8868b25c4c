"""The dataset of the records of CSV files (core/kernels/data/experimental/csv_dataset_op.cc).

A record ends at a line break, LF, CR or CR LF, that is not in a quoted field. A field is quoted if
it begins with a quote, and it ends at a quote that stands before a delimiter, a line break or the
end of the file.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from capstan.resources import dataset, dataset_files, record_files
from capstan.resources.dataset import Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a file that has a header, or None if the file is empty."""

    record: bytes | None


Record = bytes | Header


class Syntax:
    """Where the fields of CSV files end. Thread-safe."""

    def __init__(self, delimiter: bytes, *, has_quotes: bool) -> None:
        """`delimiter` is one byte."""
        ends = re.escape(delimiter) + rb"\r\n"
        self._has_quotes = has_quotes
        self._plain = re.compile(rb"[^%s]*+" % ends)
        self._quoted = re.compile(rb'(?:[^"]|"[^%s])*+"(?=[%s]|\Z)' % (ends, ends))

    def is_special(self, text: bytes) -> bool:
        """Return whether a line without its break needs `end`: it has quotes or line breaks."""
        return (self._has_quotes and b'"' in text) or b"\r" in text or b"\n" in text

    def is_quoted(self, text: bytes, start: int) -> bool:
        """Return whether the field that begins at `start` is quoted."""
        return self._has_quotes and text.startswith(b'"', start)

    def end(self, text: bytes, start: int, *, is_inside: bool) -> int | None:
        """Return where the field ends that begins at `start`, or that `start` is inside of.

        `is_inside` says that `start` is in a quoted field. The result is None if the field has no
        closing quote in `text`.
        """
        if not is_inside and not self.is_quoted(text, start):
            found = self._plain.match(text, start)
        else:
            found = self._quoted.match(text, start if is_inside else start + 1)
        return None if found is None else found.end()


def records(
    syntax: Syntax, has_header: bool, compression: str, name: str
) -> tuple[BinaryIO, Iterator[Record]]:
    """Open a CSV file. The records have no line breaks at their ends."""
    file = record_files.opened(name, compression)
    found = _records(syntax, file)
    return file, _headed(found) if has_header else found


def _headed(found: Iterator[bytes]) -> Iterator[Record]:
    yield Header(next(found, None))
    yield from found


def _records(syntax: Syntax, file: BinaryIO) -> Iterator[bytes]:
    pieces: list[bytes] = []
    is_inside = False
    for line in iter(file.readline, b""):
        if not pieces and not syntax.is_special(text := line.removesuffix(b"\n")):
            yield text
            continue
        start = at = 0
        while at < len(line):
            end = syntax.end(line, at, is_inside=is_inside)
            is_inside = end is None
            if end is None:
                break
            at = end + 1
            if line[end:at] in (b"\r", b"\n"):
                yield b"".join((*pieces, line[start:end]))
                pieces.clear()
                start = at = at + line.startswith(b"\r\n", end)
        if start < len(line):
            pieces.append(line[start:])
    if pieces:
        yield b"".join(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Rows(dataset.Dataset):
    """The records of files, each as the element that `parse` makes.

    `parse` takes a record, and `check` takes a header. They raise an OpError if it is damaged, and
    the next record follows.
    """

    spec: Spec
    names: tuple[bytes, ...]
    open_file: Callable[[str], tuple[BinaryIO, Iterator[Record]]]
    parse: Callable[[bytes], Element]
    check: Callable[[bytes | None], None]

    def start(self, run: Run) -> Iterator[Element]:
        return _Rows(self, dataset_files.Records(self.names, self.open_file, run))


class _Rows(Iterator[Element]):
    def __init__(self, plan: Rows, found: Iterator[Any]) -> None:
        self._plan, self._records = plan, found

    def __next__(self) -> Element:
        for record in self._records:
            if not isinstance(record, Header):
                return self._plan.parse(record)
            self._plan.check(record.record)
        raise StopIteration
