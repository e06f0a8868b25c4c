"""Reads the fields of many protocol buffers at once, by operations on all their bytes.

A field begins with a byte, the tag, and the length of what follows. The functions know messages as
TensorFlow's writers write them, and refuse any other message, also a valid one.

Source: developers.google.com/protocol-buffers/docs/encoding.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from capstan.core import packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings

FIRST, SECOND, THIRD = 0x0A, 0x12, 0x1A
"""The tags of the first three fields of a message, if lengths follow them."""
FEW, _LONG = 32, 256
"""Up to `FEW` lists, and lists of more than `_LONG` bytes, are read one by one.

Reading them one by one takes less time or memory.
"""
_WORD_BYTES = 8


class UnusualError(Exception):
    """The library must read these messages."""


class Wire:
    """The bytes of all examples, and the 64 bits that begin at each byte."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.text = b"".join(texts)
        self.padded = self.text + bytes(8)
        self.bytes: Array = np.frombuffer(self.padded, np.uint8)
        size = len(self.text) + 1
        self._words: Array = np.ndarray((size,), "<u8", self.padded, 0, (1,))

    def field(self, at: Array, ends: Array, tags: Array | int) -> tuple[Array, Array]:
        """Return where the fields at these places start and end. They end before `ends`.

        Raises:
            UnusualError: a field has another tag, or does not end before `ends`.
        """
        if np.count_nonzero(at >= ends):
            raise UnusualError
        words = self._words[at]
        differing = words ^ tags
        if not np.count_nonzero(differing & 0x80FF):  # All lengths have one byte.
            starts = at + 2
            stops = starts + (differing >> 8 & 0x7F).view(np.int64)
            if np.count_nonzero(stops > ends):
                raise UnusualError
            return starts, stops
        if np.count_nonzero(differing & 0xFF):
            raise UnusualError
        words >>= 8
        lengths, starts = words & 0x7F, at + 2
        goes_on = (words >> 7) & 1
        for shift in (7, 14, 21, 28):
            if not goes_on.any():
                break
            words >>= 8
            lengths |= ((words & 0x7F) << shift) * goes_on
            starts += goes_on.astype(np.int64)
            goes_on &= words >> 7
        stops = starts + lengths.astype(np.int64)
        if goes_on.any() or (stops > ends).any():
            raise UnusualError
        return starts, stops

    def only_field(self, at: Array, ends: Array, tags: Array | int) -> tuple[Array, Array]:
        """Return where the fields at these places start and end. Nothing follows them.

        Raises:
            UnusualError: as `field`, or something follows.
        """
        starts, stops = self.field(at, ends, tags)
        if (stops != ends).any():
            raise UnusualError
        return starts, stops

    def repeated(
        self, at: Array, ends: Array, most: float = math.inf
    ) -> tuple[Array, Array, Array]:
        """Return the owner, start and end of each of the repeated fields between these places.

        The owner is an index of `at`. Owners are sorted. If many owners have more than `most`
        fields, raise UnusualError.
        """
        owners = np.arange(len(at))
        counts = np.zeros(len(at), np.int64)
        found = []
        for step in itertools.count():
            is_left = at < ends
            if np.count_nonzero(is_left) < len(is_left):
                owners, at, ends = owners[is_left], at[is_left], ends[is_left]
            if len(owners) <= FEW:
                break
            if step >= most:
                raise UnusualError
            starts, stops = self.field(at, ends, FIRST)
            found.append((owners, counts[owners], starts, stops))
            counts[owners] += 1
            at = stops
        for owner, first, end in zip(owners.tolist(), at.tolist(), ends.tolist(), strict=True):
            rest = np.array(self._fields(first, end), np.int64).reshape(-1, 2)
            ranks = np.arange(counts[owner], counts[owner] + len(rest))
            found.append((np.full(len(rest), owner), ranks, *rest.T))
            counts[owner] += len(rest)
        firsts = counts.cumsum() - counts
        all_starts, all_stops = np.empty((2, int(counts.sum())), np.int64)
        for owners, ranks, starts, stops in found:
            places = firsts[owners] + ranks
            all_starts[places], all_stops[places] = starts, stops
        return np.arange(len(counts)).repeat(counts), all_starts, all_stops

    def _fields(self, at: int, end: int) -> list[tuple[int, int]]:
        """Return the start and end of each of the fields between two places."""
        text, found = self.text, []
        while at < end:
            if text[at] != FIRST:
                raise UnusualError
            at, length, shift, goes_on = at + 1, 0, 0, True
            while goes_on and at < end:
                length |= (text[at] & 0x7F) << shift
                goes_on = text[at] > 0x7F
                at, shift = at + 1, shift + 7
            if goes_on or at + length > end:
                raise UnusualError
            found.append((at, at + length))
            at += length
        return found

    def likely_entries(self) -> Array:
        """Return the places of all bytes that may begin a feature with its key.

        Each feature begins at one of them, if its key is shorter than 128 bytes and its length has
        at most two bytes.
        """
        text = self.bytes[: len(self.text)]
        is_first = text == FIRST
        is_entry = np.zeros_like(is_first)
        # The tag and the length of the feature, then the tag of the key.
        np.logical_and(is_first[:-2], is_first[2:], is_entry[:-2])
        is_entry[:-3] |= is_first[:-3] & is_first[3:] & (text[1:-2] > 0x7F)
        places = is_entry.nonzero()[0]
        keys = places + 2 + (self.bytes[places + 1] > 0x7F)
        # The tag of the value follows the key.
        after = keys + 2 + self.bytes[keys + 1]
        after[after >= len(self.text)] = 0
        likely: Array = places[self.bytes[after] == SECOND]
        return likely

    def repeats(self, starts: Array, lengths: Array, count: int) -> bool:
        """Return whether the texts at these places are the first `count` texts again and again."""
        by_row = lengths.reshape(-1, count)
        if (by_row != by_row[0]).any():
            return False
        longest = int(by_row[0].max())
        for place in range(0, longest, _WORD_BYTES):
            at = np.minimum(starts + place, len(self.text))
            words = self._words[at].reshape(-1, count)
            words &= packed_strings.first_bytes(by_row[0] - place)
            if (words != words[0]).any():
                return False
        return True

    def strings(self, starts: Array, stops: Array) -> PackedStrings:
        """Return the strings between these places."""
        return PackedStrings(self.padded, starts, stops - starts)

    def lists(self, starts: Array, stops: Array) -> list[Array]:
        """Return the bytes between these places: one array for all, or one for each pair."""
        sizes = stops - starts
        if sizes.sum() > _LONG * len(sizes):
            pairs = zip(starts.tolist(), stops.tolist(), strict=True)
            return [self.bytes[start:stop] for start, stop in pairs]
        before = sizes.cumsum() - sizes
        return [self.bytes[(starts - before).repeat(sizes) + np.arange(sizes.sum())]]
