"""The framing of TFRecord files (core/lib/io/record_writer.cc).

A record is its length (8 bytes), the masked CRC of the length, the data, and the masked CRC of the
data. Numbers are little-endian.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final

from capstan import errors
from capstan.core import crc32c

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
HEADER_SIZE = _LENGTH.size + _CHECKSUM.size
FOOTER_SIZE = _CHECKSUM.size

Read = Callable[[int], bytes]
"""Returns the next bytes of a file: as many as asked for, or fewer at the end of the file."""

_WORD: Final = 0xFFFFFFFF

_MOST_HEADERS: Final = 4096
"""The number of headers that a reader remembers. Many records of a file have the same length."""


def encode(record: bytes) -> bytes:
    """Return a record as it is written to a file.

    >>> list(records(__import__("io").BytesIO(encode(b"abc")).read))
    [b'abc']
    """
    length = _LENGTH.pack(len(record))
    header = length + _CHECKSUM.pack(crc32c.masked(length))
    return b"".join((header, record, _CHECKSUM.pack(crc32c.masked(record))))


def records(source: Read) -> Iterator[bytes]:
    """Yield the data of each record of a file, which `source` reads from its beginning.

    Raises:
        DataLossError: a record is truncated, or a checksum is wrong. The message has the position.
    """
    import google_crc32c

    offset = 0
    lengths: dict[bytes, int] = {}
    extend, checksum_at = google_crc32c.extend, _CHECKSUM.unpack_from
    header = source(HEADER_SIZE)
    while header:
        length = lengths.get(header)
        if length is None:
            length = _length(header, offset)
            if len(lengths) < _MOST_HEADERS:
                lengths[header] = length
        try:
            # One call reads the record and the header of the next one.
            body = source(length + FOOTER_SIZE + HEADER_SIZE)
        except (MemoryError, OverflowError):
            raise _truncated(offset) from None
        end = length + FOOTER_SIZE
        if len(body) < end:
            raise _truncated(offset)
        data = body[:length]
        # A call of `crc32c.masked` for each record would take as long as the rest.
        crc = extend(0, data)
        if ((crc >> 15 | crc << 17) + crc32c.DELTA) & _WORD != checksum_at(body, length)[0]:
            raise _corrupted(offset + HEADER_SIZE)
        yield data
        offset += HEADER_SIZE + end
        header = body[end:]


def _length(header: bytes, offset: int) -> int:
    if len(header) < HEADER_SIZE:
        raise _truncated(offset)
    if crc32c.masked(header[: _LENGTH.size]) != _CHECKSUM.unpack_from(header, _LENGTH.size)[0]:
        raise _corrupted(offset)
    length: int = _LENGTH.unpack_from(header)[0]
    return length


def _corrupted(offset: int) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"corrupted record at {offset}")


def _truncated(offset: int) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"truncated record at {offset}")
