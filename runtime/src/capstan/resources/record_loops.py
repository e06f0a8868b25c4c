"""A loop that finds the records of a TFRecord file, in the part of Python that is compiled
(`hardware.cpu_loops`). The format is that of `core.tfrecord`.
"""

from typing import Any, Final

from capstan.core.words import word

_WORD: Final = 0xFFFFFFFF
_DELTA: Final = 0xA282EAD8


def find_records(data: Any, tables: Any, starts: Any, ends: Any, state: Any) -> int:
    """Find the complete records of `data`, and check them. Return how many there are.

    Write where the content of each record starts and ends. `state[0]` becomes the place after the
    last of them. `state[1]` becomes 1 if a checksum of the next record is wrong. `tables` are those
    of `record_finder`.
    """
    at = 0
    count = 0
    while at + 16 <= len(data):
        length = word(data, at)
        if masked(checksum(data, at, at + 8, tables)) != word(data, at + 4) >> 32:
            state[1] = 1
            break
        start = at + 12
        if length < 0 or length > len(data) - at - 16:
            break
        end = start + length
        if masked(checksum(data, start, end, tables)) != word(data, end - 4) >> 32:
            state[1] = 1
            break
        starts[count] = start
        ends[count] = end
        count += 1
        at = end + 4
    state[0] = at
    return count


def checksum(data: Any, start: int, end: int, tables: Any) -> int:
    """Return the CRC-32C of some bytes, eight of which are read at a time."""
    crc = _WORD
    at = start
    while at + 8 <= end:
        bits = word(data, at) ^ crc
        crc = (
            tables[1792 + (bits & 255)]
            ^ tables[1536 + ((bits >> 8) & 255)]
            ^ tables[1280 + ((bits >> 16) & 255)]
            ^ tables[1024 + ((bits >> 24) & 255)]
            ^ tables[768 + ((bits >> 32) & 255)]
            ^ tables[512 + ((bits >> 40) & 255)]
            ^ tables[256 + ((bits >> 48) & 255)]
            ^ tables[bits >> 56]
        )
        at += 8
    while at < end:
        crc = tables[(crc ^ data[at]) & 255] ^ (crc >> 8)
        at += 1
    return crc ^ _WORD


def masked(crc: int) -> int:
    """Return the form of a checksum that a file has (`core.crc32c.mask`)."""
    return (((crc >> 15) | (crc << 17)) + _DELTA) & _WORD
