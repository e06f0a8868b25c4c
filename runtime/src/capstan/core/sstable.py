"""Sorted tables of bytes in LevelDB's format, which is the format of a checkpoint's index.

A table is a sequence of blocks and a footer. The footer points to the last block, which is the
index of the other blocks. Within a block, a key leaves out the prefix that it shares with the
previous key. Every block has a checksum. An index has one entry per variable, so tables are small
and are read and written as a whole.

Sources: LevelDB's doc/table_format.md; tensorflow/core/lib/io/{table_builder,format,block}.cc.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence

from capstan import errors
from capstan.core import crc32c, varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = struct.Struct("<BI")
_BLOCK_BYTES = 1 << 18
_RESTART_INTERVAL = 16
_UNCOMPRESSED = 0

_Entry = tuple[bytes, bytes]


def encode(items: Mapping[bytes, bytes]) -> bytes:
    """Return a table without compression.

    >>> decode(encode({b"b": b"2", b"a": b"1"}))
    {b'a': b'1', b'b': b'2'}
    """
    file = bytearray()
    index = [
        (block[-1][0], _append(file, _block(block, _RESTART_INTERVAL)))
        for block in _split(sorted(items.items()))
    ]
    metadata = _append(file, _block([], 1))
    handles = metadata + _append(file, _block(index, 1))
    return bytes(file) + handles.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def decode(data: bytes) -> dict[bytes, bytes]:
    """Return the entries of a table, in the order of their keys.

    Raises:
        DataLossError: `data` is not a table, or is damaged.
        UnimplementedError: a block is compressed. TensorFlow never compresses them.
    """
    if len(data) < _FOOTER:
        raise _damaged("file is too short to be an sstable")
    if struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise _damaged("not an sstable (bad magic number)")
    try:
        _, position = _handle(data, len(data) - _FOOTER)
        index, _ = _handle(data, position)
        return dict(
            entry
            for _, handle in _entries(_read(data, index))
            for entry in _entries(_read(data, _handle(handle, 0)[0]))
        )
    except (ValueError, struct.error) as error:
        raise _damaged(str(error)) from error


def _split(items: Sequence[_Entry]) -> Iterator[Sequence[_Entry]]:
    start = size = 0
    for end, (key, value) in enumerate(items, 1):
        size += len(key) + len(value)
        if size >= _BLOCK_BYTES or end == len(items):
            yield items[start:end]
            start, size = end, 0


def _block(items: Sequence[_Entry], restart_interval: int) -> bytes:
    out = bytearray()
    restarts = [0] if not items else []
    previous = b""
    for number, (key, value) in enumerate(items):
        shared = 0
        if number % restart_interval == 0:
            restarts.append(len(out))
        else:
            limit = min(len(previous), len(key))
            while shared < limit and previous[shared] == key[shared]:
                shared += 1
        out += varint.encode(shared) + varint.encode(len(key) - shared) + varint.encode(len(value))
        out += key[shared:] + value
        previous = key
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _append(file: bytearray, block: bytes) -> bytes:
    """Append a block and return its handle: its offset and its length."""
    handle = varint.encode(len(file)) + varint.encode(len(block))
    kind = bytes([_UNCOMPRESSED])
    file += block + _TRAILER.pack(_UNCOMPRESSED, crc32c.masked(block + kind))
    return handle


def _handle(data: bytes, position: int) -> tuple[tuple[int, int], int]:
    offset, position = varint.decode(data, position)
    size, position = varint.decode(data, position)
    return (offset, size), position


def _read(data: bytes, handle: tuple[int, int]) -> bytes:
    offset, size = handle
    end = offset + size
    if end + _TRAILER.size > len(data):
        raise ValueError("truncated block read")
    kind, checksum = _TRAILER.unpack_from(data, end)
    if crc32c.masked(data[offset : end + 1]) != checksum:
        raise ValueError("block checksum mismatch")
    if kind != _UNCOMPRESSED:
        raise errors.UnimplementedError(
            None,
            None,
            f"the table has a block with compression {kind}; only uncompressed tables can be read",
        )
    return data[offset:end]


def _entries(block: bytes) -> Iterator[_Entry]:
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    position, key = 0, b""
    while position < end:
        shared, position = varint.decode(block, position)
        unshared, position = varint.decode(block, position)
        size, position = varint.decode(block, position)
        if shared > len(key) or position + unshared + size > end:
            raise ValueError("bad entry in block")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + size]
        position += size


def _damaged(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, why)
