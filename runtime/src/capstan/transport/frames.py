"""The encoding of frames as bytes. This module does no I/O.

    header   32 bytes   magic u16, kind u16, step u64, subject u32, rows u32, table bytes u32,
                        payload bytes u64
    table               one row per value: place u32, dtype u16, rank u16, bytes u64, then each
                        dimension as u64
    payload             the values, each at a multiple of 64 from the start of the payload

All numbers are little-endian, dtypes are TensorFlow's (framework/types.proto), and arrays are in C
order in the byte order of the header. Strings are packed as TensorFlow packs them: all lengths as
varints, then all bytes. Bytes of a peer that are not a frame raise an error. Lengths are checked
against limits and against one another before memory is allocated for the values.
"""

import functools
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from capstan import errors
from capstan.core import dtypes, packed
from capstan.resources import variant
from capstan.transport import api

Array = np.ndarray[Any, Any]
Signature = list[tuple[np.dtype[Any], tuple[int, ...]]]

HEADER: Final = struct.Struct("<HHQIIIQ")
MAGIC: Final = 0xC4F7
ALIGNMENT: Final = 64
MAX_TABLE_BYTES: Final = 1 << 20
MAX_MESSAGE_BYTES: Final = (1 << 31) - 1
"""The default limit of a payload, which is also the limit of a gRPC message."""

_ROW = struct.Struct("<IHHQ")
_MAX_RANK = 64  # NumPy has the same limit.
_KINDS = {int(kind): kind for kind in api.Kind}
_ZEROS = bytes(ALIGNMENT)

# Values up to this size are copied. A copy costs less than one more buffer in a gathering write.
_COPIED_BYTES = 4096

_VARIANT = (variant.Variant, type(None))
"""The types of the elements of a tensor of variants.

A frame carries the elements as bytes. The receiver knows the tensor's dtype and decodes the bytes.
"""

# The number of layouts that an encoder remembers. A step has fewer messages.
_REMEMBERED = 256


class Header(NamedTuple):
    """The checked header of a frame. A tuple takes less time to make than a frozen dataclass."""

    kind: api.Kind
    step: int
    subject: int
    rows: int
    table_bytes: int
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """The dtype and shape of one value, and its place in the payload."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    size: int


def read_header(data: bytes | bytearray | memoryview, at: int, max_message_bytes: int) -> Header:
    """Read the header at offset `at`.

    Raises:
        DataLossError: the bytes are not the header of a frame.
        ResourceExhaustedError: the frame exceeds a limit.
    """
    magic, kind, step, subject, rows, table_bytes, payload_bytes = HEADER.unpack_from(data, at)
    if magic != MAGIC or kind not in _KINDS:
        raise _broken(f"it starts with {magic:#06x} {kind:#06x}; is the peer a Capstan task?")
    if table_bytes > MAX_TABLE_BYTES or payload_bytes > max_message_bytes:
        raise _too_large(table_bytes, payload_bytes, max_message_bytes)
    if rows * _ROW.size > table_bytes or (payload_bytes and not rows):
        raise _broken(f"{rows} rows do not account for {table_bytes} + {payload_bytes} bytes")
    return Header(_KINDS[kind], step, subject, rows, table_bytes, payload_bytes)


def read_table(header: Header, table: bytes) -> tuple[Row, ...]:
    """Read the rows, and check that they describe the payload of the header.

    Raises:
        DataLossError: the rows are malformed or do not match the header.
    """
    rows: list[Row] = []
    at = offset = end = 0
    try:
        for place in range(header.rows):
            found, code, rank, size = _ROW.unpack_from(table, at)
            if found != place or rank > _MAX_RANK:
                raise _broken(f"row {place} says it is row {found} of rank {rank}")
            shape = struct.unpack_from(f"<{rank}Q", table, at + _ROW.size)
            at += _ROW.size + 8 * rank
            row = Row(_numpy_dtype(code), shape, offset, size)
            _check_size(row)
            rows.append(row)
            end = offset + size
            offset = _aligned(end)
    except struct.error:
        raise _broken(f"its table of {len(table)} bytes ends in mid-row") from None
    if at != len(table) or end != header.payload_bytes:
        raise _broken(
            f"its rows take {at} + {end} bytes, its header says "
            f"{len(table)} + {header.payload_bytes}"
        )
    return tuple(rows)


def read_values(rows: Sequence[Row], payload: memoryview) -> tuple[Array, ...]:
    """Return the values as views of `payload`, except strings, which are copied.

    Raises:
        DataLossError: strings do not fill their bytes, or NumPy cannot hold a shape.
    """
    try:
        return tuple(
            _unpack_strings(row, payload[row.offset : row.offset + row.size].tobytes())
            if row.dtype.hasobject
            else np.ndarray(row.shape, row.dtype, payload, row.offset)
            for row in rows
        )
    except (ValueError, OverflowError) as error:
        raise _broken(f"it holds an invalid value: {error}") from None


@dataclass(frozen=True, slots=True)
class _Layout:
    """The table and paddings that all frames with the same dtypes and shapes share."""

    signature: Signature
    table: bytes
    sizes: tuple[int, ...]
    pads: tuple[bytes, ...]
    payload_bytes: int


class Encoder:
    """Encodes frames as buffers. Not thread-safe: each link has an encoder under its send lock.

    An encoder remembers the layout of the last frame of each kind and subject, because the next
    frame of a training loop has the same layout.
    """

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = max_message_bytes
        self._layouts: dict[tuple[int, int], _Layout] = {}

    def encode(self, frame: api.Frame) -> list[bytes | memoryview]:
        """Return the buffers to send, in order. Large values are not copied.

        Raises:
            InvalidArgumentError: frames cannot carry one of the values.
            ResourceExhaustedError: the payload exceeds `max_message_bytes`, or there are too many
                values.
        """
        values = frame.values
        if not values:
            return [HEADER.pack(MAGIC, frame.kind, frame.step, frame.subject, 0, 0, 0)]
        layout, strings = self._layout(frame)
        header = HEADER.pack(
            MAGIC,
            frame.kind,
            frame.step,
            frame.subject,
            len(values),
            len(layout.table),
            layout.payload_bytes,
        )
        parts: list[bytes | memoryview] = []
        copied = [header, layout.table]
        for place, value in enumerate(values):
            if place in strings:
                copied.append(strings[place])
            elif layout.sizes[place] <= _COPIED_BYTES:
                copied.append(value.tobytes())
            else:
                parts.append(b"".join(copied))
                parts.append(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
                copied = []
            copied.append(layout.pads[place])
        if last := b"".join(copied):
            parts.append(last)
        return parts

    def _layout(self, frame: api.Frame) -> tuple[_Layout, dict[int, bytes]]:
        key = (frame.kind, frame.subject)
        signature = [(value.dtype, value.shape) for value in frame.values]
        known = self._layouts.get(key)
        if known is not None and known.signature == signature:
            return known, {}
        strings = {
            place: _pack_strings(frame.values[place])
            for place, (dtype, _) in enumerate(signature)
            if dtype.hasobject
        }
        layout = _plan(signature, strings, self._limit)
        if not strings:
            if len(self._layouts) >= _REMEMBERED:
                del self._layouts[next(iter(self._layouts))]
            self._layouts[key] = layout
        return layout, strings


def _plan(signature: Signature, strings: dict[int, bytes], limit: int) -> _Layout:
    table: list[bytes] = []
    sizes: list[int] = []
    pads: list[bytes] = []
    offset = end = 0
    for place, (dtype, shape) in enumerate(signature):
        size = len(strings[place]) if place in strings else math.prod(shape) * dtype.itemsize
        table.append(_ROW.pack(place, _code(dtype), len(shape), size))
        table.append(struct.pack(f"<{len(shape)}Q", *shape))
        end = offset + size
        offset = _aligned(end)
        sizes.append(size)
        pads.append(_ZEROS[: offset - end])
    pads[-1] = b""
    rows = b"".join(table)
    if len(rows) > MAX_TABLE_BYTES or end > limit:
        raise _too_large(len(rows), end, limit)
    return _Layout(signature, rows, tuple(sizes), tuple(pads), end)


def _check_size(row: Row) -> None:
    count = math.prod(row.shape)
    if row.dtype.hasobject:
        if count > row.size:  # the length of each string takes at least one byte
            raise _broken(f"{count} strings do not fit in {row.size} bytes")
    elif count * row.dtype.itemsize != row.size:
        raise _broken(f"{row.size} bytes are not {list(row.shape)} of {row.dtype}")


def _pack_strings(array: Array) -> bytes:
    texts = [
        variant.to_bytes(element) if isinstance(element, _VARIANT) else element
        for element in array.ravel().tolist()
    ]
    for text in texts:
        if not isinstance(text, bytes):
            raise errors.InvalidArgumentError(
                None, None, f"A string tensor holds {text!r}; its elements must be bytes"
            )
    return packed.join(texts)


def _unpack_strings(row: Row, data: bytes) -> Array:
    texts = packed.split(data, math.prod(row.shape))
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(row.shape)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


@functools.cache
def _code(dtype: np.dtype[Any]) -> int:
    if not dtype.isnative:
        raise errors.InvalidArgumentError(
            None, None, f"A tensor has byte order {dtype.byteorder!r}; use dtype.newbyteorder('=')"
        )
    if dtype.hasobject:
        return dtypes.string.as_datatype_enum
    try:
        return dtypes.as_dtype(dtype).as_datatype_enum
    except TypeError as error:
        raise errors.InvalidArgumentError(None, None, str(error)) from None


@functools.cache
def _numpy_dtype(code: int) -> np.dtype[Any]:
    try:
        dtype = dtypes.as_dtype(code)
    except TypeError:
        raise _broken(f"no tensor has dtype {code}") from None
    if dtype is dtypes.resource:
        return dtypes.np_resource
    if dtype.is_ref_dtype or not dtype.is_numpy_compatible:
        raise _broken(f"frames cannot carry {dtype.name}")
    return np.dtype(dtype.as_numpy_dtype)


def _broken(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"A frame cannot be read: {why}")


def _too_large(table: int, payload: int, limit: int) -> errors.ResourceExhaustedError:
    return errors.ResourceExhaustedError(
        None,
        None,
        f"A frame has a table of {table} bytes and a payload of {payload}; the limits are "
        f"{MAX_TABLE_BYTES} and {limit}. Split the tensors (a partitioned variable), or raise "
        "max_message_bytes on every task",
    )
