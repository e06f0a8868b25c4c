"""The records of a CSV file (core/kernels/data/experimental/csv_dataset_op.cc)."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from capstan import errors
from capstan.resources import record_files


def opened(
    delimiter: bytes, has_quotes: bool, skips_header: bool, compression: str, name: str
) -> tuple[BinaryIO, Iterator[bytes]]:
    r"""Open a CSV file, and return its records without the line breaks between them.

    A record ends at a line break that is not in a quoted field: `\n`, `\r` or `\r\n`. Only a quote
    at the beginning of a field opens a quoted field. The iterator raises InvalidArgumentError if
    the header of the file is to be skipped and is missing.
    """
    file = record_files.opened(name, compression)
    found = _records(file, _pattern(delimiter, has_quotes=has_quotes))
    return file, _without_header(found, name) if skips_header else found


def _pattern(delimiter: bytes, *, has_quotes: bool) -> re.Pattern[bytes]:
    """Return the pattern of a record. Its first group is empty where the text ends too early."""
    end = rb"[" + re.escape(delimiter) + rb"\r\n]"
    plain = rb"[^" + re.escape(delimiter) + rb"\r\n]*+"
    # In a quoted field, a quote that no end of the field follows belongs to the field.
    inside = rb'(?:[^"]++|"(?!' + end + rb"|\Z).)*+"
    field = rb'(?:"' + inside + rb'(?:"|\Z)|' + plain + rb")" if has_quotes else plain
    record = field + rb"(?:" + re.escape(delimiter) + field + rb")*+"
    return re.compile(record + rb"(\r\n|\r|\n|\Z)", re.DOTALL)


def _records(file: BinaryIO, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    for line in iter(file.readline, b""):
        text, at = line, 0
        while at < len(text):
            found = pattern.match(text, at)
            assert found is not None  # the pattern matches any text
            if not found[1] and (more := file.readline()):
                text, at = text[at:] + more, 0
                continue
            yield text[at : found.start(1)]
            at = found.end()


def _without_header(records: Iterator[bytes], name: str) -> Iterator[bytes]:
    if next(records, None) is None:
        raise errors.InvalidArgumentError(
            None, None, f"Can't read header of file: {name!r} is empty"
        )
    yield from records
