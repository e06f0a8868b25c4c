"""What the index of a checkpoint says of a tensor, and its form on disk.

The messages are TensorFlow's BundleHeaderProto and BundleEntryProto, in
core/protobuf/tensor_bundle.proto. They are read and written here field by field: kernels need them,
and the classes of messages that `tensorboard` lacks belong to the transport, above.

A tensor that was saved in slices has an entry that lists them, and one entry for each slice, under
a key in Google's OrderedCode (core/util/saved_tensor_slice_util.cc).
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capstan import errors
from capstan.core import varint

HEADER_KEY = b""
WHOLE = -1
"""The length of a slice that spans its dimension."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VERSION = 1

Extent = tuple[int, int]
"""One dimension of a slice: start and length."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor lies: `size` bytes from `offset` of a shard; `dtype` as in types.proto."""

    dtype: int
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0
    slices: tuple[tuple[Extent, ...], ...] = ()

    def encode(self) -> bytes:
        """Write the entry as BundleEntryProto; fields that are zero are left out."""
        dims = b"".join(_message(2, _number(1, size)) for size in self.shape)
        return b"".join(
            (
                _number(1, self.dtype),
                _message(2, dims),
                _number(3, self.shard),
                _number(4, self.offset),
                _number(5, self.size),
                bytes([6 << 3 | _FIXED32]) + struct.pack("<I", self.crc) if self.crc else b"",
                *(_message(7, _slice_message(extents)) for extents in self.slices),
            )
        )

    @classmethod
    def decode(cls, data: bytes) -> "Entry":
        """Read a BundleEntryProto.

        >>> Entry.decode(Entry(1, (2, 0), size=8, crc=5).encode())
        Entry(dtype=1, shape=(2, 0), shard=0, offset=0, size=8, crc=5, slices=())

        Raises:
            DataLossError: it is none.
        """
        numbers = dict.fromkeys((1, 3, 4, 5, 6), 0)
        shape: tuple[int, ...] = ()
        slices: list[tuple[Extent, ...]] = []
        for field, value in _fields(data):
            if isinstance(value, int):
                numbers[field] = value
            elif field == 2:
                dims = (inner for number, inner in _fields(value) if number == 2)
                shape = tuple(_first(dim, 1, 0) for dim in dims)
            elif field == 7:
                extents = (inner for number, inner in _fields(value) if number == 1)
                slices.append(tuple((_first(e, 1, 0), _first(e, 2, WHOLE)) for e in extents))
        dtype, shard, offset, size, crc = (numbers[field] for field in (1, 3, 4, 5, 6))
        return cls(dtype, shape, shard, offset, size, crc, tuple(slices))


def encode_header(shards: int) -> bytes:
    """Write a BundleHeaderProto: so many shards, little-endian, TensorFlow's version 1."""
    return _number(1, shards) + _message(3, _number(1, _VERSION))


def decode_header(data: bytes) -> int:
    """Read a BundleHeaderProto and return the number of shards.

    Raises:
        UnimplementedError: the tensors are big-endian.
        DataLossError: it is no header, or of a format newer than this software reads.
    """
    if _first(data, 2, 0):
        raise errors.UnimplementedError(
            None,
            None,
            "the checkpoint was written on a big-endian machine; save it anew on another",
        )
    for field, value in _fields(data):
        if field == 3 and _first(value, 2, 0) > _VERSION:
            raise errors.DataLossError(
                None, None, "the checkpoint asks for a newer reader than this one"
            )
    return _first(data, 1, 0)


def index_of(extents: Sequence[Extent]) -> tuple[slice, ...]:
    """Return a slice as the index of an array.

    >>> index_of([(3, 2), (0, WHOLE)])
    (slice(3, 5, None), slice(None, None, None))
    """
    return tuple(
        slice(None) if length == WHOLE else slice(start, start + length)
        for start, length in extents
    )


def slice_key(name: bytes, extents: Sequence[Extent]) -> bytes:
    """Return the key of one slice of the tensor `name`.

    >>> slice_key(b"v", [(0, 2), (0, WHOLE)])
    b'\\x00v\\x00\\x01\\x01\\x02\\x80\\x82\\x80\\x7f'
    """
    escapes = {0: b"\x00\xff", 255: b"\xff\x00"}
    escaped = b"".join(escapes.get(byte, bytes([byte])) for byte in name)
    numbers = (number for extent in extents for number in extent)
    return b"".join(
        (_ordered(0), escaped, b"\x00\x01", _ordered(len(extents)), *map(_ordered_signed, numbers))
    )


def _ordered(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _ordered_signed(value: int) -> bytes:
    # One byte holds 6 bits and each further one 7: the first bits are the length, in unary.
    bits = (value if value >= 0 else ~value).bit_length()
    size = max(1, (bits + 7) // 7)
    header = ((1 << size) - 1) << (8 * size - size)
    return ((value & ((1 << 8 * size) - 1)) ^ header).to_bytes(size, "big")


def _slice_message(extents: Sequence[Extent]) -> bytes:
    return b"".join(
        _message(1, _number(1, start) + (b"" if length == WHOLE else _field(2, length)))
        for start, length in extents
    )


def _field(field: int, value: int) -> bytes:
    return bytes([field << 3 | _VARINT]) + varint.encode(value)


def _number(field: int, value: int) -> bytes:
    return _field(field, value) if value else b""


def _message(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | _BYTES]) + varint.encode(len(content)) + content


def _fields(data: bytes | int) -> Iterator[tuple[int, bytes | int]]:
    """Yield the fields of a message: numbers as int, everything with a length as bytes."""
    if isinstance(data, int):
        raise _damaged("a number where a message should be")
    position = 0
    try:
        while position < len(data):
            tag, position = varint.decode(data, position)
            kind, value = tag & 7, 0
            if kind == _VARINT:
                value, position = varint.decode(data, position)
                yield tag >> 3, value
                continue
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
            if kind == _BYTES:
                size, position = varint.decode(data, position)
            if size is None or position + size > len(data):
                raise _damaged(f"field {tag >> 3} is cut off or of unknown kind")
            content, position = data[position : position + size], position + size
            yield tag >> 3, content if kind == _BYTES else int.from_bytes(content, "little")
    except ValueError as error:
        raise _damaged(str(error)) from error


def _first(data: bytes | int, field: int, default: int) -> int:
    for number, value in _fields(data):
        if number == field and isinstance(value, int):
            return value
    return default


def _damaged(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"bad entry in the index of a checkpoint: {why}")
