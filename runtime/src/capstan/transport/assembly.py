"""Assembles frames from a stream of bytes. This module does no I/O.

The caller reads bytes into `target()`, reports their number with `filled(count)`, and calls `take`
for complete frames.

Small frames are read through one staging buffer, so that one system call reads a whole frame. The
payload of a large frame is read directly into the memory that its values view. That memory is kept
for each kind and subject and reused for the next such frame, because allocating new pages and
touching them first costs as much as a copy.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.transport import api, frames

Array = np.ndarray[Any, Any]

_STAGING_BYTES: Final = 16384
_KEPT_SLOTS: Final = 256
# Memory up to this size is reused for any smaller frame. Larger memory is reused only if the frame
# fills a quarter of it.
_ALWAYS_KEPT_BYTES: Final = 1 << 20
# Large feeds of all graphs share one slot, because the number of graphs has no bound.
_ANY_GRAPH: Final = -1


@dataclass(slots=True)
class _Slot:
    """The memory for frames of one kind and subject.

    `values` is None if the frames hold strings.
    """

    table: bytes
    rows: tuple[frames.Row, ...]
    memory: Array
    payload: memoryview
    values: tuple[Array, ...] | None


class Assembler:
    """Assembles the frames of one stream. Not thread-safe, and not usable after an error."""

    def __init__(self, max_message_bytes: int = frames.MAX_MESSAGE_BYTES) -> None:
        self._limit = max_message_bytes
        self._staging = memoryview(bytearray(_STAGING_BYTES))
        self._start = 0
        self._end = 0
        self._slots: dict[tuple[int, int], _Slot] = {}
        self._header: frames.Header | None = None
        self._slot = _EMPTY
        self._missing = 0

    @property
    def holds_bytes(self) -> bool:
        """Whether bytes of a frame were read that `take` has not returned yet."""
        return self._header is not None or self._start != self._end

    def target(self) -> memoryview:
        """Return the buffer for the next bytes. It is not empty after `take` has returned None."""
        if self._header is not None:
            return self._slot.payload[-self._missing :]
        if self._end == 0:
            return self._staging
        if self._end == len(self._staging):
            self._make_room(frames.HEADER.size)
        return self._staging[self._end :]

    def filled(self, count: int) -> None:
        """Record that `count` bytes were written to `target()`."""
        if self._header is not None:
            self._missing -= count
        else:
            self._end += count

    def take(self, *, fresh: bool = False) -> api.Frame | None:
        """Return the next complete frame, or None.

        If `fresh`, a frame that this call begins gets new memory, and earlier frames stay valid.

        Raises:
            DataLossError: the bytes are not a frame.
            ResourceExhaustedError: the frame exceeds the limit.
        """
        if self._header is None:
            self._header = self._begin(fresh)
        header = self._header
        if header is None or self._missing:
            return None
        self._header = None
        slot = self._slot
        values = slot.values
        if values is None:
            values = frames.read_values(slot.rows, slot.payload)
        return api.Frame(header.kind, header.step, header.subject, values)

    def _begin(self, fresh: bool) -> frames.Header | None:
        """Read the header and the table of a frame, and copy the payload bytes read so far.

        Return the header, or None if the header or the table is not complete yet.
        """
        available = self._end - self._start
        if available < frames.HEADER.size:
            return None
        header = frames.read_header(self._staging, self._start, self._limit)
        at = self._start + frames.HEADER.size
        if available < frames.HEADER.size + header.table_bytes:
            self._make_room(frames.HEADER.size + header.table_bytes)
            return None
        slot = self._slot = (
            self._place(header, self._staging[at : at + header.table_bytes].tobytes(), fresh)
            if header.rows
            else _EMPTY
        )
        at += header.table_bytes
        held = min(self._end - at, header.payload_bytes)
        if held:
            slot.payload[:held] = self._staging[at : at + held]
        self._start = at + held
        if self._start == self._end:
            self._start = self._end = 0
        self._missing = header.payload_bytes - held
        return header

    def _place(self, header: frames.Header, table: bytes, fresh: bool) -> _Slot:
        """Return the memory for a frame.

        Unless `fresh`, reuse the memory of the last frame of this kind and subject if it fits.
        """
        large_feeds = header.kind is api.Kind.START and header.payload_bytes > _ALWAYS_KEPT_BYTES
        key = (header.kind, _ANY_GRAPH if large_feeds else header.subject)
        known = None if fresh else self._slots.get(key)
        if known is not None and known.table == table:
            return known
        rows = frames.read_table(header, table)
        size = header.payload_bytes
        memory = known.memory if known is not None and _fits(known.memory, size) else _take(size)
        payload = memory[:size].data
        strings = any(row.dtype.hasobject for row in rows)
        values = None if strings else frames.read_values(rows, payload)
        slot = _Slot(table, rows, memory, payload, values)
        self._slots.pop(key, None)
        if len(self._slots) >= _KEPT_SLOTS:
            del self._slots[next(iter(self._slots))]
        self._slots[key] = slot
        return slot

    def _make_room(self, need: int) -> None:
        """Make room for `need` bytes after `start`: move the unread bytes to the front."""
        if len(self._staging) - self._start >= need:
            return
        held = self._staging[self._start : self._end].tobytes()
        if len(self._staging) < need:
            self._staging = memoryview(bytearray(need))
        self._staging[: len(held)] = held
        self._start, self._end = 0, len(held)


_NOTHING = np.empty(0, np.uint8)
_EMPTY: Final = _Slot(b"", (), _NOTHING, _NOTHING.data, ())


def _fits(memory: Array, size: int) -> bool:
    return size <= memory.nbytes <= max(4 * size, _ALWAYS_KEPT_BYTES)


def _take(size: int) -> Array:
    """Return new aligned memory, whose pages are not touched yet."""
    try:
        raw = np.empty(size + frames.ALIGNMENT - 1, np.uint8)
    except MemoryError:
        raise errors.ResourceExhaustedError(
            None, None, f"There is no memory for a frame with a payload of {size} bytes"
        ) from None
    start = -raw.ctypes.data % frames.ALIGNMENT
    return raw[start : start + size]
