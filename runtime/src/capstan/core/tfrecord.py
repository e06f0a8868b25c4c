"""The framing of TFRecord files (core/lib/io/record_writer.cc).

A record is its length (8 bytes), the masked CRC of the length, the data, and the masked CRC of the
data. Numbers are little-endian.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from capstan import errors
from capstan.core import crc32c

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
HEADER_SIZE = _LENGTH.size + _CHECKSUM.size
FOOTER_SIZE = _CHECKSUM.size
_WORD: Final = 0xFFFFFFFF

Read = Callable[[int], bytes]
"""Returns the next bytes of a file: as many as asked for, or fewer at the end of the file."""

_CHUNK: Final = 1 << 18
"""The bytes that are read at once."""


class Found(NamedTuple):
    """The records at the beginning of some bytes.

    `size` is the number of bytes of these records. If not `is_whole`, the next one is damaged.
    """

    records: list[bytes]
    size: int
    is_whole: bool


Find = Callable[[bytes], Found]


def encode(record: bytes) -> bytes:
    """Return a record as it is written to a file.

    >>> list(records(__import__("io").BytesIO(encode(b"abc")).read))
    [b'abc']
    """
    length = _LENGTH.pack(len(record))
    header = length + _CHECKSUM.pack(crc32c.masked(length))
    return b"".join((header, record, _CHECKSUM.pack(crc32c.masked(record))))


def find(data: bytes) -> Found:
    """Return the complete records at the beginning of `data`."""
    import google_crc32c

    extend, checksum_at = google_crc32c.extend, _CHECKSUM.unpack_from
    found: list[bytes] = []
    lengths: dict[bytes, int] = {}  # Many records have the same length.
    at, last = 0, len(data) - HEADER_SIZE - FOOTER_SIZE
    while at <= last:
        start = at + HEADER_SIZE
        header = data[at:start]
        length = lengths.get(header)
        if length is None:
            length = lengths[header] = _length(header)
            if length < 0:
                return Found(found, at, False)
        if length > last - at:
            break
        record = data[start : start + length]
        # A call of `crc32c.masked` for each record would take as long as the rest.
        crc = extend(0, record)
        if ((crc >> 15 | crc << 17) + crc32c.DELTA) & _WORD != checksum_at(data, start + length)[0]:
            return Found(found, at, False)
        found.append(record)
        at = start + length + FOOTER_SIZE
    return Found(found, at, True)


def records(source: Read, find: Find = find) -> Iterator[bytes]:
    """Yield the data of each record of a file, which `source` reads from its beginning.

    `find` does what the function `find` does.

    Raises:
        DataLossError: a record is truncated, or a checksum is wrong. The message has the position.
    """
    data, offset = source(_CHUNK), 0
    while data:
        found = find(data)
        yield from found.records
        data, offset = data[found.size :], offset + found.size
        missing = _missing(data, offset)
        if not found.is_whole:
            raise _corrupted(offset + HEADER_SIZE)
        try:
            more = source(max(missing, _CHUNK))
        except (MemoryError, OverflowError):
            raise _truncated(offset) from None
        if data and len(more) < missing:
            raise _truncated(offset)
        data += more


def _missing(data: bytes, offset: int) -> int:
    """Return how many bytes the first record lacks, or its header if that is not complete.

    Raises:
        DataLossError: the checksum of its length is wrong.
    """
    if len(data) < HEADER_SIZE:
        return HEADER_SIZE - len(data)
    length = _length(data[:HEADER_SIZE])
    if length < 0:
        raise _corrupted(offset)
    return HEADER_SIZE + length + FOOTER_SIZE - len(data)


def _length(header: bytes) -> int:
    """Return the length in a header, or -1 if its checksum is wrong."""
    if crc32c.masked(header[: _LENGTH.size]) != _CHECKSUM.unpack_from(header, _LENGTH.size)[0]:
        return -1
    length: int = _LENGTH.unpack_from(header)[0]
    return length


def _corrupted(offset: int) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"corrupted record at {offset}")


def _truncated(offset: int) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"truncated record at {offset}")
