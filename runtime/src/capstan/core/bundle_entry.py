"""Entries of a checkpoint's index and their format on disk.

Each tensor has an entry. The entry of a tensor that was saved in slices lists the slices. Each
slice has an entry of its own, with a key in Google's OrderedCode
(core/util/saved_tensor_slice_util.cc).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capstan import errors
from capstan.core import checkpoint_messages

HEADER_KEY = b""
WHOLE = -1
"""The length of an extent that spans the whole dimension."""

_VERSION = 1

Extent = tuple[int, int]
"""The start and the length of a slice in one dimension."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a tensor or a slice: `size` bytes at `offset` of a shard.

    `dtype` is the number of the type in types.proto.
    """

    dtype: int
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0
    slices: tuple[tuple[Extent, ...], ...] = ()

    def encode(self) -> bytes:
        """Return the entry as a serialized BundleEntryProto."""
        message = checkpoint_messages.BundleEntryProto(
            dtype=self.dtype,
            shard_id=self.shard,
            offset=self.offset,
            size=self.size,
            crc32c=self.crc,
        )
        message.shape.SetInParent()  # A scalar has a shape message too.
        for size in self.shape:
            message.shape.dim.add(size=size)
        for extents in self.slices:
            write_extents(message.slices.add(), extents)
        data: bytes = message.SerializeToString()
        return data

    @classmethod
    def decode(cls, data: bytes) -> "Entry":
        """Read a serialized BundleEntryProto.

        >>> Entry.decode(Entry(1, (2, 0), size=8, crc=5).encode())
        Entry(dtype=1, shape=(2, 0), shard=0, offset=0, size=8, crc=5, slices=())

        Raises:
            DataLossError: `data` is not a BundleEntryProto, or has a negative number.
        """
        message = parsed(checkpoint_messages.BundleEntryProto, data)
        shape = tuple(dim.size for dim in message.shape.dim)
        if min(message.shard_id, message.offset, message.size, *shape) < 0:
            raise _damaged("a size, an offset or the number of a shard is negative")
        slices = tuple(read_extents(listed) for listed in message.slices)
        return cls(
            message.dtype,
            shape,
            message.shard_id,
            message.offset,
            message.size,
            message.crc32c,
            slices,
        )


def encode_header(shards: int) -> bytes:
    """Return a serialized BundleHeaderProto for `shards` shards: little-endian, version 1."""
    message = checkpoint_messages.BundleHeaderProto(num_shards=shards)
    message.version.producer = _VERSION
    data: bytes = message.SerializeToString()
    return data


def decode_header(data: bytes) -> int:
    """Read a serialized BundleHeaderProto and return the number of shards.

    Raises:
        UnimplementedError: the tensors are big-endian.
        DataLossError: `data` is not a header, or the format is newer than Capstan can read.
    """
    message = parsed(checkpoint_messages.BundleHeaderProto, data)
    if message.endianness:
        raise errors.UnimplementedError(
            None,
            None,
            "the checkpoint was written on a big-endian machine; save it on a little-endian one",
        )
    check_version(message.version)
    shards: int = message.num_shards
    return shards


def check_version(versions: Any) -> None:
    """Check the VersionDef of a checkpoint.

    Raises:
        DataLossError: the format is newer than Capstan can read.
    """
    if versions.min_consumer > _VERSION:
        raise errors.DataLossError(
            None, None, "the checkpoint needs a newer version of Capstan to be read"
        )


def write_extents(message: Any, extents: Sequence[Extent]) -> None:
    """Write a slice into an empty TensorSliceProto."""
    for start, length in extents:
        message.extent.add(start=start, length=None if length == WHOLE else length)


def read_extents(message: Any) -> tuple[Extent, ...]:
    """Return the slice in a TensorSliceProto."""
    return tuple(
        (extent.start, extent.length if extent.HasField("length") else WHOLE)
        for extent in message.extent
    )


def index_of(extents: Sequence[Extent]) -> tuple[slice, ...]:
    """Convert a slice to the index of an array.

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
    # The leading bits hold the length in bytes, in unary. The first byte therefore holds 6 bits of
    # the value, and each further byte 7 bits.
    bits = (value if value >= 0 else ~value).bit_length()
    size = max(1, (bits + 7) // 7)
    header = ((1 << size) - 1) << (8 * size - size)
    return ((value & ((1 << 8 * size) - 1)) ^ header).to_bytes(size, "big")


def parsed(kind: Any, data: bytes) -> Any:
    """Return `data` as a message of class `kind`.

    Raises:
        DataLossError: `data` is malformed.
    """
    from google.protobuf import message

    try:
        return kind.FromString(data)
    except message.DecodeError as error:
        raise _damaged(str(error)) from None


def _damaged(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"bad entry in the index of a checkpoint: {why}")
