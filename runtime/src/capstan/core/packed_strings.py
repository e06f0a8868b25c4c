"""Vectors of strings without an object for each string.

A batch of a recommender has ten thousand strings. As objects of Python they lie all over the
memory, and each thread that copies, hashes or deletes them waits for this memory. A node may return
`PackedStrings` in place of an array if all nodes that read it take both (`executor.packing`).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

_PADDING: Final = 8
"""The bytes after the last string, so that eight bytes can be read from each byte of a string."""
_SHORT: Final = 32
"""The most bytes of a string that NumPy makes."""
_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
"""The bits of the first bytes of a word, by their number."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedStrings:
    """A vector of strings in one piece of memory, which nothing changes. Thread-safe.

    String `i` is the `sizes[i]` bytes of `data` from `starts[i]` on. At least eight bytes follow
    each string. `starts` and `sizes` are vectors of int64.
    """

    data: bytes
    starts: Array
    sizes: Array

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> "PackedStrings":
        sizes = _sizes(texts)
        return cls(b"".join([*texts, bytes(_PADDING)]), sizes.cumsum() - sizes, sizes)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.sizes),)

    @property
    def ndim(self) -> int:
        return 1

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The dtype of the array that `unpacked` returns."""
        return np.dtype(object)

    @property
    def nbytes(self) -> int:
        """The memory of the vector itself, without the strings, which other vectors may share."""
        return self.starts.nbytes + self.sizes.nbytes

    @property
    def words(self) -> Array:
        """The 64 bits that begin at each byte of `data`, as a vector of little-endian uint64."""
        return np.ndarray((len(self.data) - _PADDING + 1,), "<u8", self.data, 0, (1,))

    def __len__(self) -> int:
        return len(self.sizes)

    def part(self, start: int, stop: int) -> "PackedStrings":
        """Return the strings from number `start` to number `stop`, in the same memory."""
        return PackedStrings(self.data, self.starts[start:stop], self.sizes[start:stop])

    def text(self, number: int) -> bytes:
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])]

    def unpacked(self) -> Array:
        """Return the strings as an object array of `bytes`."""
        lasts = self.starts + self.sizes - 1
        is_short = self.sizes <= _SHORT
        # As an array of texts, a string would lose zeros at its end.
        is_short &= (np.frombuffer(self.data, np.uint8).take(lasts) > 0) | (self.sizes == 0)
        short = is_short.nonzero()[0]
        found = np.empty(len(self), object)
        found[short] = self._short(self.starts[short], self.sizes[short])
        for number in (~is_short).nonzero()[0].tolist():
            found[number] = self.text(number)
        return found

    def _short(self, starts: Array, sizes: Array) -> Array:
        """Return strings, as `unpacked`. NumPy makes the objects four times as fast as Python."""
        count = -(-int(sizes.max(initial=1)) // 8)
        words = np.empty((len(sizes), count), "<u8")
        for place in range(count):
            masks = first_bytes(sizes - 8 * place)
            at = np.minimum(starts + 8 * place, len(self.data) - _PADDING)
            # `take` would first copy all words, because they overlap.
            words[:, place] = self.words[at] & masks
        return words.view(f"S{8 * count}").reshape(-1).astype(object)


def join(vectors: Sequence[PackedStrings]) -> PackedStrings:
    """Return the strings of all vectors, of which there is at least one, one after the other."""
    data = vectors[0].data
    if any(vector.data is not data for vector in vectors):
        texts = [vector.unpacked().tolist() for vector in vectors]
        return PackedStrings.of(list(itertools.chain.from_iterable(texts)))
    return PackedStrings(
        data,
        np.concatenate([vector.starts for vector in vectors]),
        np.concatenate([vector.sizes for vector in vectors]),
    )


def split(texts: Sequence[bytes], separators: bytes) -> tuple[PackedStrings, Array]:
    """Return the parts of one or more strings, and how many each has, as a vector of int64.

    Each byte of `separators` ends a part. An empty string has one part, which is empty.
    """
    # If a separator follows each string, then all parts end at one.
    data = separators[:1].join([*texts, bytes(_PADDING)])
    is_separator = np.zeros(256, bool)
    is_separator[list(separators)] = True
    ends = is_separator[np.frombuffer(data, np.uint8, len(data) - _PADDING)].nonzero()[0]
    starts = np.zeros_like(ends)
    np.add(ends[:-1], 1, starts[1:])
    lasts = (_sizes(texts) + 1).cumsum() - 1
    counts = np.diff(ends.searchsorted(lasts), prepend=-1)
    return PackedStrings(data, starts, ends - starts), counts


def first_bytes(counts: Array) -> Array:
    """Return uint64 whose bits are 1 in that many first bytes: none below 0, and 8 from 8 on."""
    return _MASKS.take(counts, mode="clip")


def unpacked(strings: Any) -> Array:
    """Return strings of either kind as an object array."""
    return strings.unpacked() if isinstance(strings, PackedStrings) else np.asarray(strings, object)


def _sizes(texts: Sequence[bytes]) -> Array:
    """Return the sizes of strings, as a vector of int64."""
    try:
        # With sizes below 256, this takes half the time.
        return np.frombuffer(bytearray(map(len, texts)), np.uint8).astype(np.int64)
    except ValueError:
        return np.fromiter(map(len, texts), np.int64, len(texts))
