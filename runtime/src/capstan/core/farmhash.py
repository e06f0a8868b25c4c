"""farmhash's `Fingerprint64`, the hash of StringToHashBucketFast and of crossed columns.

Each formula computes with integers of Python for one string, and with vectors of uint64, whose
arithmetic wraps around, for many strings at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import packed_strings
from capstan.core.arrays import Array

_WORD = (1 << 64) - 1
_WORD_BYTES: Final = 8
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F

_FEW = 32
"""Up to this number, strings are hashed faster one by one than as vectors."""

Fetch = Callable[[Any], Any]
"""Returns the 64 bits at a place, counted from the end if it is negative. Bits after the end of the
string are undefined.
"""


def farm64(text: bytes) -> int:
    """Return the fingerprint of a string."""
    size = len(text)

    def fetch(at: int) -> int:
        at += size if at < 0 else 0
        return int.from_bytes(text[at : at + 8], "little")

    for longest, formula in _FORMULAS:
        if size <= longest:
            result: int = formula(size, fetch)
            return result
    return _long(size, fetch)


def farm64_of_each(texts: Sequence[bytes]) -> Array:
    """Return the fingerprints of strings, as a vector of uint64."""
    if len(texts) <= _FEW:
        return np.fromiter(map(farm64, texts), np.uint64, len(texts))
    return farm64_of_packed(packed_strings.PackedStrings.of(texts))


def farm64_of_packed(strings: packed_strings.PackedStrings) -> Array:
    """Return the fingerprints of strings, as a vector of uint64."""
    words = strings.words
    result = np.empty(len(strings), np.uint64)
    rank = _RANKS.take(strings.sizes, mode="clip")
    for index in np.bincount(rank).nonzero()[0].tolist():
        chosen = (rank == index).nonzero()[0]
        if index == len(_FORMULAS):
            result[chosen] = [farm64(strings.text(number)) for number in chosen.tolist()]
        else:
            size, start = strings.sizes.take(chosen), strings.starts.take(chosen)
            longest, formula = _FORMULAS[index]
            if longest < _WORD_BYTES:
                fetch = _fetch_in(words[start], size)
            else:
                fetch = _fetch_of(words, start, start + size)
            result[chosen] = formula(size.view(np.uint64), fetch)
    return result


def _fetch_of(words: Array, starts: Array, ends: Array) -> Fetch:
    # `take` would first copy all words, because they overlap.
    def fetch(at: Any) -> Any:
        if isinstance(at, int) and at < 0:
            return words[ends + at]
        return words[starts + np.asarray(at, np.int64)]

    return fetch


def _fetch_in(firsts: Array, sizes: Array) -> Fetch:
    """Return the `fetch` of strings that end in their first words."""

    def fetch(at: Any) -> Any:
        if isinstance(at, int) and at >= 0:
            return firsts >> 8 * at if at else firsts
        bits = (sizes + at if isinstance(at, int) else at.view(np.int64)) << 3
        return firsts >> bits.view(np.uint64)

    return fetch


def _wrapped(value: Any) -> Any:
    """Return the lowest 64 bits of an integer of Python. A vector has no other bits."""
    return value & _WORD if isinstance(value, int) else value


def _right(value: Any, bits: int) -> Any:
    value = _wrapped(value)
    return _wrapped(value >> bits | value << (64 - bits))


def _shift_mix(value: Any) -> Any:
    value = _wrapped(value)
    return value ^ value >> 47


def _pair(first: Any, second: Any, factor: Any) -> Any:
    mixed = _shift_mix((first ^ second) * factor)
    return _wrapped(_shift_mix((second ^ mixed) * factor) * factor)


def _empty(size: Any, fetch: Fetch) -> Any:
    return _K2


def _up_to_3(size: Any, fetch: Fetch) -> Any:
    first, middle, last = (fetch(at) & 0xFF for at in (0, size >> 1, -1))
    y, z = first + (middle << 8), size + (last << 2)
    return _wrapped(_shift_mix(y * _K2 ^ z * _K0) * _K2)


def _up_to_7(size: Any, fetch: Fetch) -> Any:
    first, last = (fetch(at) & 0xFFFFFFFF for at in (0, -4))
    return _pair(size + (first << 3), last, _K2 + size * 2)


def _up_to_16(size: Any, fetch: Fetch) -> Any:
    factor = _K2 + size * 2
    a, b = _wrapped(fetch(0) + _K2), fetch(-8)
    c = _wrapped(_right(b, 37) * factor + a)
    d = _wrapped((_right(a, 25) + b) * factor)
    return _pair(c, d, factor)


def _up_to_32(size: Any, fetch: Fetch) -> Any:
    factor = _K2 + size * 2
    a, b = fetch(0) * _K1, fetch(8)
    c, d = fetch(-8) * factor, fetch(-16) * _K2
    first = _right(a + b, 43) + _right(c, 30) + d
    second = a + _right(b + _K2, 18) + c
    return _pair(_wrapped(first), _wrapped(second), factor)


def _up_to_64(size: Any, fetch: Fetch) -> Any:
    factor = _K2 + size * 2
    a, b = fetch(0) * _K2, fetch(8)
    c, d = fetch(-8) * factor, fetch(-16) * _K2
    y = _wrapped(_right(a + b, 43) + _right(c, 30) + d)
    z = _pair(y, _wrapped(a + _right(b + _K2, 18) + c), factor)
    e, f = fetch(16) * factor, fetch(24)
    g, h = (y + fetch(-32)) * factor, (z + fetch(-24)) * factor
    first = _right(e + f, 43) + _right(g, 30) + h
    second = e + _right(f + a, 18) + g
    return _pair(_wrapped(first), _wrapped(second), factor)


_FORMULAS: Final = (
    (0, _empty), (3, _up_to_3), (7, _up_to_7), (16, _up_to_16), (32, _up_to_32), (64, _up_to_64),
)  # fmt: skip
"""The formula for strings up to each length."""
_RANKS: Final = np.searchsorted([longest for longest, _ in _FORMULAS], np.arange(66))
"""The place in `_FORMULAS` for strings of each length. The last is that of all longer strings."""


def _weak(fetch: Fetch, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (fetch(at + place) for place in (0, 8, 16, 24))
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    b += _right(a, 44)
    return (a + z) & _WORD, (b + c) & _WORD


def _long(size: int, fetch: Fetch) -> int:
    x, y = 81 * _K2 & _WORD, (81 * _K1 + 113) & _WORD
    z = _shift_mix(y * _K2 + 113) * _K2 & _WORD
    x += fetch(0)
    v, w = (0, 0), (0, 0)
    for at in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _block(fetch, at, (x, y, z, v, w), _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + ((size - 1) & 63)) & _WORD, w[1]
    v = (v[0] + w[0]) & _WORD, v[1]
    w = (w[0] + v[0]) & _WORD, w[1]
    x, y, z, v, w = _block(fetch, size - 64, (x, y, z, v, w), factor, 9)
    first = _pair(v[0], w[0], factor) + _shift_mix(y) * _K0 + z
    result: int = _pair(first & _WORD, (_pair(v[1], w[1], factor) + x) & _WORD, factor)
    return result


_State = tuple[int, int, int, tuple[int, int], tuple[int, int]]


def _block(fetch: Fetch, at: int, state: _State, factor: int, weight: int) -> _State:
    """Return the state after 64 more bytes."""
    x, y, z, v, w = state
    x = _right(x + y + v[0] + fetch(at + 8), 37) * factor & _WORD
    y = _right(y + v[1] + fetch(at + 48), 42) * factor & _WORD
    x ^= w[1] * weight & _WORD
    y = (y + v[0] * weight + fetch(at + 40)) & _WORD
    z = _right(z + w[0], 33) * factor & _WORD
    v = _weak(fetch, at, v[1] * factor, x + w[0])
    w = _weak(fetch, at + 32, z + w[1], y + fetch(at + 16))
    return z, y, x, v, w
