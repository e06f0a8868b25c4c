"""SipHash-2-4, the keyed hash of StringToHashBucketStrong.

The rounds compute with integers of Python for one string, and with vectors of uint64, whose
arithmetic wraps around, for many strings at once.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.core import packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings

_WORD: Final = (1 << 64) - 1
_START: Final = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)

_FEW: Final = 16
"""Up to this number, strings are hashed faster one by one than as vectors."""

_BLOCK: Final = 4096
"""The vectors for as many strings stay in the cache of a core."""

_State = tuple[Any, Any, Any, Any]


def siphash64(text: bytes, keys: Sequence[int]) -> int:
    """Return the hash of a string for two 64-bit keys."""
    state: _State = _start(keys)
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for at in range(0, len(padded), 8):
        state = _mixed(state, int.from_bytes(padded[at : at + 8], "little"))
    result: int = _end(state)
    return result


def siphash64_of_each(texts: Sequence[bytes], keys: Sequence[int]) -> Array:
    """Return the hashes of strings, as a vector of uint64."""
    if len(texts) <= _FEW:
        return np.array([siphash64(text, keys) for text in texts], np.uint64)
    return siphash64_of_packed(PackedStrings.of(texts), keys)


def siphash64_of_packed(strings: PackedStrings, keys: Sequence[int]) -> Array:
    """Return the hashes of strings, as a vector of uint64."""
    result = np.empty(len(strings), np.uint64)
    counts = strings.sizes // 8 + 1
    order = np.argsort(-counts, kind="stable")
    # The first strings are longer than all others: the vectors of their last words would be short.
    alone = int((counts[order[:_FEW]] > counts[order[_FEW:]].max(initial=0)).sum())
    for number in order[:alone].tolist():
        result[number] = siphash64(strings.text(number), keys)
    for start in range(alone, len(order), _BLOCK):
        chosen = order[start : start + _BLOCK]
        result[chosen] = _of_sorted(strings, chosen, counts[chosen], keys)
    return result


def _of_sorted(strings: PackedStrings, chosen: Array, counts: Array, keys: Sequence[int]) -> Array:
    """Return the hashes of the chosen strings, of which the ones with most words come first."""
    starts, sizes = strings.starts[chosen], strings.sizes[chosen]
    states = np.empty((4, len(chosen)), np.uint64)
    states.T[:] = _start(keys)
    for place in range(int(counts.max())):
        number = int(np.searchsorted(-counts, -place))
        # `take` would first copy all words, because they overlap.
        words = strings.words[starts[:number] + 8 * place]
        rest = sizes[:number] - 8 * place
        words &= packed_strings.first_bytes(rest)
        words |= np.where(rest < 8, (sizes[:number] << 56).view(np.uint64), 0)
        states[:, :number] = _mixed(tuple(states[:, :number]), words)
    return np.asarray(_end(tuple(states)))


def _start(keys: Sequence[int]) -> tuple[int, int, int, int]:
    low, high = (key & _WORD for key in keys)
    return low ^ _START[0], high ^ _START[1], low ^ _START[2], high ^ _START[3]


def _mixed(state: Any, word: Any) -> _State:
    """Return the state after 8 more bytes."""
    a, b, c, d = state
    a, b, c, d = _rounds(2, a, b, c, d ^ word)
    return a ^ word, b, c, d


def _end(state: Any) -> Any:
    a, b, c, d = state
    a, b, c, d = _rounds(4, a, b, c ^ 0xFF, d)
    return a ^ b ^ c ^ d


def _rounds(count: int, a: Any, b: Any, c: Any, d: Any) -> _State:
    for _ in range(count):
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b, d = _left(b, 13) ^ a, _left(d, 16) ^ c
        a, c = (_left(a, 32) + d) & _WORD, (c + b) & _WORD
        b, d = _left(b, 17) ^ c, _left(d, 21) ^ a
        c = _left(c, 32)
    return a, b, c, d


def _left(value: Any, bits: int) -> Any:
    if isinstance(value, int):
        return (value << bits | value >> (64 - bits)) & _WORD
    high = value << bits
    high |= value >> (64 - bits)
    return high
