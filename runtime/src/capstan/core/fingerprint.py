"""`Hash64` of core/lib/hash/hash.cc (Murmur 2), the hash of StringToHashBucket.

It is computed with integers of Python for one string, and with vectors of uint64, whose arithmetic
wraps around, for many strings at once.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from capstan.core import packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings

_WORD = (1 << 64) - 1
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE

_FEW: Final = 16
"""Up to this number, strings are hashed faster one by one than as vectors."""


def murmur64(text: bytes) -> int:
    """Return TensorFlow's `Hash64` of a string."""
    state = _MURMUR_SEED ^ (len(text) * _MURMUR & _WORD)
    aligned = len(text) & ~7
    for at in range(0, aligned, 8):
        part = int.from_bytes(text[at : at + 8], "little") * _MURMUR & _WORD
        part = (part ^ part >> 47) * _MURMUR & _WORD
        state = (state ^ part) * _MURMUR & _WORD
    if aligned < len(text):
        state = (state ^ int.from_bytes(text[aligned:], "little")) * _MURMUR & _WORD
    state = (state ^ state >> 47) * _MURMUR & _WORD
    return state ^ state >> 47


def murmur64_of_each(texts: Sequence[bytes]) -> Array:
    """Return the hashes of strings, as a vector of uint64."""
    if len(texts) <= _FEW:
        return np.array([murmur64(text) for text in texts], np.uint64)
    return murmur64_of_packed(PackedStrings.of(texts))


def murmur64_of_packed(strings: PackedStrings) -> Array:
    """Return the hashes of strings, as a vector of uint64."""
    order = np.argsort(-strings.sizes, kind="stable")
    result = np.empty(len(order), np.uint64)
    # The first strings are longer than all others: the vectors of their last words would be short.
    counts = strings.sizes[order] >> 3
    alone = int((counts[:_FEW] > counts[_FEW:].max(initial=0)).sum())
    for number in order[:alone].tolist():
        result[number] = murmur64(strings.text(number))
    rest = order[alone:]
    result[rest] = _of_sorted(strings, rest, counts[alone:])
    return result


def _of_sorted(strings: PackedStrings, chosen: Array, counts: Array) -> Array:
    """Return the hashes of the chosen strings. The strings with the most whole words come first."""
    words, starts, sizes = strings.words, strings.starts[chosen], strings.sizes[chosen]
    state = sizes.view(np.uint64) * _MURMUR ^ _MURMUR_SEED
    for place in range(int(counts.max(initial=0))):
        left = int(np.count_nonzero(counts > place))
        part = words[starts[:left] + 8 * place] * _MURMUR
        state[:left] = (state[:left] ^ (part ^ part >> 47) * _MURMUR) * _MURMUR
    cut = (sizes & 7).nonzero()[0]
    last = words[starts[cut] + 8 * counts[cut]] & packed_strings.first_bytes(sizes[cut] & 7)
    state[cut] = (state[cut] ^ last) * _MURMUR
    state = (state ^ state >> 47) * _MURMUR
    return state ^ state >> 47
