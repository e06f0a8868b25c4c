"""Decodes many serialized Examples at once, by operations on the bytes of the whole batch.

Such a message nests fields that begin with a byte, the tag, and the length of what follows. All
examples are read in step: first their first features, then their second ones. The protobuf library
makes an object of each feature instead. For features of a few values that takes five times as long.

The functions know messages as TensorFlow's writers write them. They refuse any other message, also
a valid one, by `UnusualError`, and the caller reads it with the library, which finds the fault.

Source: developers.google.com/protocol-buffers/docs/encoding, core/example/{example,feature}.proto.
"""

import contextlib
import itertools
import math
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.kernels import runs
from capstan.kernels.example_columns import Column

_FIRST, _SECOND, _THIRD = 0x0A, 0x12, 0x1A
"""The tags of the first three fields of a message, if lengths follow them."""
_KINDS = {dtypes.string: _FIRST, dtypes.float32: _SECOND, dtypes.int64: _THIRD}
_MOST_STRINGS = 32
"""The library is faster if many lists have more strings."""
_FEW, _LONG = 32, 256
"""Up to `_FEW` lists, and lists of more than `_LONG` bytes, are read one by one.

Reading them one by one takes less time or memory.
"""
_VARINT_BYTES = 10
_WORD_BYTES = 8
_MOST_SCANNED = 1 << 20
"""Larger batches are not searched for features: they have few features, with many values each."""


class UnusualError(Exception):
    """The library must read these messages."""


class _Wire:
    """The bytes of all examples, and the 64 bits that begin at each byte."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.text = b"".join(texts)
        self.padded = self.text + bytes(8)
        self.bytes: Array = np.frombuffer(self.padded, np.uint8)
        size = len(self.text) + 1
        self._words: Array = np.ndarray((size,), "<u8", self.padded, 0, (1,))

    def field(self, at: Array, ends: Array, tags: Array | int) -> tuple[Array, Array]:
        """Return where the fields at these places start and end. They end before `ends`."""
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
        """Return where the fields at these places start and end. Nothing follows them."""
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
            if len(owners) <= _FEW:
                break
            if step >= most:
                raise UnusualError
            starts, stops = self.field(at, ends, _FIRST)
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
            if text[at] != _FIRST:
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
        is_first = text == _FIRST
        is_entry = np.zeros_like(is_first)
        # The tag and the length of the feature, then the tag of the key.
        np.logical_and(is_first[:-2], is_first[2:], is_entry[:-2])
        is_entry[:-3] |= is_first[:-3] & is_first[3:] & (text[1:-2] > 0x7F)
        places = is_entry.nonzero()[0]
        keys = places + 2 + (self.bytes[places + 1] > 0x7F)
        # The tag of the value follows the key.
        after = keys + 2 + self.bytes[keys + 1]
        after[after >= len(self.text)] = 0
        likely: Array = places[self.bytes[after] == _SECOND]
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


def columns(
    texts: Sequence[bytes],
    keys: Sequence[str],
    types: Sequence[dtypes.DType],
    packed: Container[int] = (),
) -> list[Column]:
    """Return the features with these names.

    `packed` are the numbers of the features of which strings become `PackedStrings`.

    Raises:
        UnusualError: a message is not as TensorFlow writes it, or it has a feature of another type.
    """
    wire, count = _Wire(texts), len(texts)
    places, starts, stops = _features(wire, np.array([*map(len, texts)], np.int64), keys)
    is_there = np.zeros(count * len(keys), np.bool_)
    is_there[places] = True
    counts = np.zeros(count * len(keys), np.int64)
    tags = np.array([_KINDS[dtype] for dtype in types], np.uint64)[places // count]
    starts, stops = wire.only_field(starts, stops, tags)
    values: list[Any] = [np.empty(0, dtype.as_numpy_dtype) for dtype in types]
    for dtype, read in ((dtypes.float32, _floats), (dtypes.int64, _ints), (dtypes.string, _texts)):
        chosen = ((tags == _KINDS[dtype]) & (stops > starts)).nonzero()[0]
        if not len(chosen):
            continue
        counts[places[chosen]], found = read(wire, starts[chosen], stops[chosen])
        totals = counts.reshape(len(keys), count).sum(1).tolist()
        indices = [index for index, kind in enumerate(types) if kind is dtype]
        _cut(values, found, indices, [totals[index] for index in indices], packed)
    parts = zip(is_there.reshape(-1, count), counts.reshape(-1, count), values, strict=True)
    return [Column(*part) for part in parts]


def _cut(
    values: list[Any],
    found: Array | PackedStrings,
    indices: Sequence[int],
    totals: Sequence[int],
    packed: Container[int],
) -> None:
    """Put the values of each feature into its place of `values`."""
    array = found if isinstance(found, np.ndarray) else None
    at = 0
    for index, total in zip(indices, totals, strict=True):
        if isinstance(found, PackedStrings) and index in packed:
            values[index] = found.part(at, at + total)
        else:
            # One call makes the objects of all features.
            array = packed_strings.unpacked(found) if array is None else array
            values[index] = array[at : at + total].copy()
        at += total


def _features(wire: _Wire, sizes: Array, keys: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return the places of features that have a kind, and where their contents start and end.

    A place counts the examples of the first key, then those of the second. Places are sorted.
    """
    ends = sizes.cumsum()
    full = sizes.nonzero()[0]
    at, ends = wire.only_field(ends[full] - sizes[full], ends[full], _FIRST)
    examples, at, ends = _entries(wire, at, ends)
    key_starts, key_stops = wire.field(at, ends, _FIRST)
    starts, stops = wire.only_field(key_stops, ends, _SECOND)
    key_of = _matches(wire, key_starts, key_stops, keys, len(full))
    chosen = (key_of >= 0).nonzero()[0]
    places = key_of[chosen] * len(sizes) + full[examples[chosen]]
    order = runs.order(places)
    places, chosen = places[order], chosen[order]
    if (places[1:] == places[:-1]).any():
        raise UnusualError
    has_kind = stops[chosen] > starts[chosen]
    places, chosen = places[has_kind], chosen[has_kind]
    return places, starts[chosen], stops[chosen]


def _entries(wire: _Wire, at: Array, ends: Array) -> tuple[Array, Array, Array]:
    """Return the owner, start and end of each feature of the examples, as `_Wire.repeated`."""
    if len(at) > _FEW and len(wire.text) <= _MOST_SCANNED and (at < ends).all():
        with contextlib.suppress(UnusualError):
            return _scanned(wire, at, ends)
    return wire.repeated(at, ends)


def _scanned(wire: _Wire, at: Array, ends: Array) -> tuple[Array, Array, Array]:
    """Return what `_entries` returns. The features are found by their bytes, all at once.

    If each place that is found ends where the next one begins, all of them are features, and there
    are no others.
    """
    places = wire.likely_entries()
    if not len(places):
        raise UnusualError
    starts, stops = wire.field(places, np.array(len(wire.text)), _FIRST)
    firsts = np.append(0, (stops[:-1] != places[1:]).nonzero()[0] + 1)
    lasts = np.append(firsts[1:], len(places)) - 1
    if not np.array_equal(places[firsts], at) or not np.array_equal(stops[lasts], ends):
        raise UnusualError
    return np.arange(len(at)).repeat(lasts - firsts + 1), starts, stops


def _matches(wire: _Wire, starts: Array, stops: Array, keys: Sequence[str], examples: int) -> Array:
    """Return for each text the index of the key that is equal to it, or -1."""
    wanted = [key.encode() for key in keys]
    if len(set(wanted)) < len(wanted) or b"" in wanted:
        raise UnusualError
    lengths = stops - starts
    count = len(starts) // max(examples, 1)
    if count and count * examples == len(starts) and wire.repeats(starts, lengths, count):
        # All examples have the same keys in the same order.
        index = {key: number for number, key in enumerate(wanted)}
        pairs = zip(starts[:count].tolist(), stops[:count].tolist(), strict=True)
        return np.tile([index.get(wire.text[start:stop], -1) for start, stop in pairs], examples)
    result = np.full(len(starts), -1)
    for length in set(map(len, wanted)):
        chosen = (lengths == length).nonzero()[0]
        texts = wire.bytes[starts[chosen, None] + np.arange(length)].view(f"S{length}").reshape(-1)
        index = np.array([at for at, key in enumerate(wanted) if len(key) == length])
        named = np.array([wanted[at] for at in index], f"S{length}")
        order = named.argsort()
        rank = np.minimum(named.searchsorted(texts, sorter=order), len(order) - 1)
        nearest = order[rank]
        result[chosen] = np.where(named[nearest] == texts, index[nearest], -1)
    return result


def _floats(wire: _Wire, at: Array, ends: Array) -> tuple[Array, Array]:
    """Return the number of values of each list, and the values of all lists."""
    starts, stops = wire.only_field(at, ends, _FIRST)
    sizes = stops - starts
    if (sizes % 4).any():
        raise UnusualError
    return sizes // 4, np.concatenate(wire.lists(starts, stops)).view("<f4")


def _ints(wire: _Wire, at: Array, ends: Array) -> tuple[Array, Array]:
    starts, stops = wire.only_field(at, ends, _FIRST)
    sizes = stops - starts
    if not sizes.all() or (wire.bytes[stops - 1] > 0x7F).any():
        raise UnusualError
    lists = wire.lists(starts, stops)
    values = [_varints(each) for each in lists]
    if len(lists) == len(sizes):
        counts = np.array([len(each) for each in values], np.int64)
    else:
        counts = np.add.reduceat(lists[0] < 0x80, sizes.cumsum() - sizes, dtype=np.int64)
    return counts, np.concatenate(values)


def _varints(found: Array) -> Array:
    """Return the numbers in these bytes. The last byte of a number is below 0x80."""
    lasts = (found < 0x80).nonzero()[0]
    if len(lasts) == len(found):
        return found.astype(np.int64)
    firsts = np.append(0, lasts[:-1] + 1)
    widths = lasts - firsts + 1
    if widths.max() > _VARINT_BYTES:
        raise UnusualError
    shifts = (7 * (np.arange(len(found)) - firsts.repeat(widths))).astype(np.uint64)
    parts = (found & 0x7F).astype(np.uint64) << shifts
    numbers: Array = np.add.reduceat(parts, firsts).view(np.int64)
    return numbers


def _texts(wire: _Wire, at: Array, ends: Array) -> tuple[Array, PackedStrings]:
    owners, starts, stops = wire.repeated(at, ends, _MOST_STRINGS)
    return np.bincount(owners, minlength=len(at)), wire.strings(starts, stops)
