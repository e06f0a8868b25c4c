"""The framing of TFRecord files (core/lib/io/record_writer.cc).

A record is its length (8 bytes), the masked CRC of the length, the data, and the masked CRC of the
data. Numbers are little-endian.
"""

import struct
from collections.abc import Callable

from capstan import errors
from capstan.core import crc32c

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
HEADER_SIZE = _LENGTH.size + _CHECKSUM.size
FOOTER_SIZE = _CHECKSUM.size

Read = Callable[[int], bytes]
"""Returns the next bytes of a file: as many as asked for, or fewer at the end of the file."""


def encode(record: bytes) -> bytes:
    """Return a record as it is written to a file.

    >>> read(__import__("io").BytesIO(encode(b"abc")).read, 0)
    b'abc'
    """
    length = _LENGTH.pack(len(record))
    header = length + _CHECKSUM.pack(crc32c.masked(length))
    return b"".join((header, record, _CHECKSUM.pack(crc32c.masked(record))))


def read(source: Read, offset: int) -> bytes | None:
    """Return the data of the next record, or None at the end of the file.

    `offset` is the position of the record in the file. Error messages show it.

    Raises:
        DataLossError: the record is truncated, or a checksum is wrong.
    """
    header = source(HEADER_SIZE)
    if not header:
        return None
    (length,) = _LENGTH.unpack(_checked(header, _LENGTH.size, offset))
    try:
        body = source(length + FOOTER_SIZE)
    except (MemoryError, OverflowError):
        raise _truncated(offset) from None
    if len(body) != length + FOOTER_SIZE:
        raise _truncated(offset)
    return _checked(body, length, offset + HEADER_SIZE)


def _checked(data: bytes, length: int, offset: int) -> bytes:
    """Return the first `length` bytes of `data`, which the CRC in the other bytes confirms."""
    if len(data) != length + FOOTER_SIZE:
        raise _truncated(offset)
    content = data[:length]
    if crc32c.masked(content) != _CHECKSUM.unpack(data[length:])[0]:
        raise errors.DataLossError(None, None, f"corrupted record at {offset}")
    return content


def _truncated(offset: int) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"truncated record at {offset}")
