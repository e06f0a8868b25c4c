"""Decodes many serialized Examples at once, by operations on the bytes of the whole batch.

Such a message nests fields that begin with a byte, the tag, and the length of what follows. All
examples are read in step: first their first features, then their second ones. The protobuf library
makes an object of each feature instead. For features of a few values that takes five times as long.

The functions know messages as TensorFlow's writers write them. They refuse any other message, also
a valid one, by `UnusualError`, and the caller reads it with the library, which finds the fault.

Source: developers.google.com/protocol-buffers/docs/encoding, core/example/{example,feature}.proto.
"""

import contextlib
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.hardware import cpu_loops
from capstan.kernels import example_loops, runs
from capstan.kernels.example_columns import Column
from capstan.kernels.wire import FEW, FIRST, SECOND, THIRD, UnusualError, Wire

_KINDS = {dtypes.string: FIRST, dtypes.float32: SECOND, dtypes.int64: THIRD}
_MOST_STRINGS = 32
"""The library is faster if many lists have more strings."""
_VARINT_BYTES = 10
_MOST_SCANNED = 1 << 20
"""Larger batches are not searched for features: they have few features, with many values each."""


class Loops:
    """The compiled loops of a node that parses Examples."""

    def __init__(self) -> None:
        self.find = cpu_loops.Loop(example_loops.find_features)
        self.take = {
            dtypes.float32: cpu_loops.Loop(example_loops.take_floats),
            dtypes.int64: cpu_loops.Loop(example_loops.take_ints),
            dtypes.string: cpu_loops.Loop(example_loops.take_strings),
        }


def columns(
    texts: Sequence[bytes],
    keys: Sequence[str],
    types: Sequence[dtypes.DType],
    packed: Container[int] = (),
    loops: Loops | None = None,
) -> list[Column]:
    """Return the features with these names.

    `packed` are the numbers of the features of which strings become `PackedStrings`. `loops` are
    those of the node, which pay after some calls.

    Raises:
        UnusualError: a message is not as TensorFlow writes it, or it has a feature of another type.
    """
    wire, count = Wire(texts), len(texts)
    if loops is not None:
        # For NumPy, two bytes are as much work as an element of other loops.
        size = len(wire.text) // 2
        find = loops.find.after(size)
        runs_of = [(dtype, loop.after(size)) for dtype, loop in loops.take.items()]
        take = {dtype: run for dtype, run in runs_of if run is not None}
        if find is not None and len(take) == len(runs_of):
            sizes = np.array([*map(len, texts)], np.int64)
            return _looped(find, take, wire, sizes, keys, types, packed)
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


def _looped(
    find: cpu_loops.Run,
    take: Mapping[dtypes.DType, cpu_loops.Run],
    wire: Wire,
    sizes: Array,
    keys: Sequence[str],
    types: Sequence[dtypes.DType],
    packed: Container[int],
) -> list[Column]:
    """Return what `columns` returns, by compiled loops."""
    wanted = _distinct(keys)
    ends = np.array([*map(len, wanted)], np.int64).cumsum()
    tags = np.array([_KINDS[dtype] for dtype in types], np.int64)
    shape = len(keys), len(sizes)
    lists = np.zeros((3, *shape), np.int64)
    starts, stops, counts = lists
    counts.fill(-1)
    names = np.frombuffer(b"".join(wanted), np.uint8)
    if find(wire.bytes, sizes.cumsum(), names, ends, tags, lists.reshape(-1)):
        raise UnusualError
    is_there = counts >= 0
    np.maximum(counts, 0, out=counts)
    totals = counts.sum(1).tolist()
    values: list[Any] = [np.empty(0, dtype.as_numpy_dtype) for dtype in types]
    for dtype, run in take.items():
        chosen = [index for index, kind in enumerate(types) if kind is dtype]
        own = [totals[index] for index in chosen]
        if total := sum(own):
            found = _taken(run, dtype, wire, starts[chosen].ravel(), stops[chosen].ravel(), total)
            _cut(values, found, chosen, own, packed)
    return [Column(*part) for part in zip(is_there, counts, values, strict=True)]


def _taken(
    run: cpu_loops.Run, dtype: dtypes.DType, wire: Wire, starts: Array, stops: Array, total: int
) -> Array | PackedStrings:
    """Return the values of lists of one type, of which there are `total`."""
    if dtype is dtypes.string:
        begins, sizes = np.empty((2, total), np.int64)
        run(wire.bytes, starts, stops, begins, sizes)
        return PackedStrings(wire.padded, begins, sizes)
    found = np.empty(total, np.uint32 if dtype is dtypes.float32 else np.int64)
    run(wire.bytes, starts, stops, found)
    values: Array = found.view(dtype.as_numpy_dtype)
    return values


def _distinct(keys: Sequence[str]) -> list[bytes]:
    """Return the bytes of the keys.

    Raises:
        UnusualError: a key is empty, or occurs twice.
    """
    wanted = [key.encode() for key in keys]
    if len(set(wanted)) < len(wanted) or b"" in wanted:
        raise UnusualError
    return wanted


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


def _features(wire: Wire, sizes: Array, keys: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return the places of features that have a kind, and where their contents start and end.

    A place counts the examples of the first key, then those of the second. Places are sorted.
    """
    ends = sizes.cumsum()
    full = sizes.nonzero()[0]
    at, ends = wire.only_field(ends[full] - sizes[full], ends[full], FIRST)
    examples, at, ends = _entries(wire, at, ends)
    key_starts, key_stops = wire.field(at, ends, FIRST)
    starts, stops = wire.only_field(key_stops, ends, SECOND)
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


def _entries(wire: Wire, at: Array, ends: Array) -> tuple[Array, Array, Array]:
    """Return the owner, start and end of each feature of the examples, as `Wire.repeated`."""
    if len(at) > FEW and len(wire.text) <= _MOST_SCANNED and (at < ends).all():
        with contextlib.suppress(UnusualError):
            return _scanned(wire, at, ends)
    return wire.repeated(at, ends)


def _scanned(wire: Wire, at: Array, ends: Array) -> tuple[Array, Array, Array]:
    """Return what `_entries` returns. The features are found by their bytes, all at once.

    If each place that is found ends where the next one begins, all of them are features, and there
    are no others.
    """
    places = wire.likely_entries()
    if not len(places):
        raise UnusualError
    starts, stops = wire.field(places, np.array(len(wire.text)), FIRST)
    firsts = np.append(0, (stops[:-1] != places[1:]).nonzero()[0] + 1)
    lasts = np.append(firsts[1:], len(places)) - 1
    if not np.array_equal(places[firsts], at) or not np.array_equal(stops[lasts], ends):
        raise UnusualError
    return np.arange(len(at)).repeat(lasts - firsts + 1), starts, stops


def _matches(wire: Wire, starts: Array, stops: Array, keys: Sequence[str], examples: int) -> Array:
    """Return for each text the index of the key that is equal to it, or -1."""
    wanted = _distinct(keys)
    lengths = stops - starts
    count = len(starts) // max(examples, 1)
    if count and count * examples == len(starts) and wire.repeats(starts, lengths, count):
        # All examples have the same keys in the same order.
        number_of = {key: number for number, key in enumerate(wanted)}
        pairs = zip(starts[:count].tolist(), stops[:count].tolist(), strict=True)
        return np.tile(
            [number_of.get(wire.text[start:stop], -1) for start, stop in pairs], examples
        )
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


def _floats(wire: Wire, at: Array, ends: Array) -> tuple[Array, Array]:
    """Return the number of values of each list, and the values of all lists."""
    starts, stops = wire.only_field(at, ends, FIRST)
    sizes = stops - starts
    if (sizes % 4).any():
        raise UnusualError
    return sizes // 4, np.concatenate(wire.lists(starts, stops)).view("<f4")


def _ints(wire: Wire, at: Array, ends: Array) -> tuple[Array, Array]:
    starts, stops = wire.only_field(at, ends, FIRST)
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


def _texts(wire: Wire, at: Array, ends: Array) -> tuple[Array, PackedStrings]:
    owners, starts, stops = wire.repeated(at, ends, _MOST_STRINGS)
    return np.bincount(owners, minlength=len(at)), wire.strings(starts, stops)
