"""The 64-bit hashes of strings that TensorFlow's ops return.

Sources: farmhash's `Fingerprint64`, `Hash64` of core/lib/hash/hash.cc (Murmur 2), and SipHash-2-4.
"""

from collections.abc import Sequence

_WORD = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


def murmur64(text: bytes) -> int:
    """Return TensorFlow's `Hash64` of a string."""
    state = _MURMUR_SEED ^ (len(text) * _MURMUR & _WORD)
    whole = len(text) & ~7
    for at in range(0, whole, 8):
        part = _fetch(text, at) * _MURMUR & _WORD
        part = (part ^ part >> 47) * _MURMUR & _WORD
        state = (state ^ part) * _MURMUR & _WORD
    if whole < len(text):
        state = (state ^ int.from_bytes(text[whole:], "little")) * _MURMUR & _WORD
    state = (state ^ state >> 47) * _MURMUR & _WORD
    return state ^ state >> 47


def siphash64(text: bytes, keys: Sequence[int]) -> int:
    """Return SipHash-2-4 of a string for two 64-bit keys."""
    low, high = (key & _WORD for key in keys)
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for at in range(0, len(padded), 8):
        part = _fetch(padded, at)
        a, b, c, d = _sip_rounds(2, a, b, c, d ^ part)
        a ^= part
    a, b, c, d = _sip_rounds(4, a, b, c ^ 0xFF, d)
    return a ^ b ^ c ^ d


def _sip_rounds(count: int, a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    for _ in range(count):
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b, d = _left(b, 13) ^ a, _left(d, 16) ^ c
        a, c = (_left(a, 32) + d) & _WORD, (c + b) & _WORD
        b, d = _left(b, 17) ^ c, _left(d, 21) ^ a
        c = _left(c, 32)
    return a, b, c, d


def farm64(text: bytes) -> int:
    """Return farmhash's `Fingerprint64` of a string."""
    size = len(text)
    if size <= 16:
        return _up_to_16(text, size)
    if size <= 32:
        return _up_to_32(text, size)
    if size <= 64:
        return _up_to_64(text, size)
    return _long(text, size)


def _fetch(text: bytes, at: int) -> int:
    """Return the 64 bits at a place, counted from the end if it is negative."""
    at += len(text) if at < 0 else 0
    return int.from_bytes(text[at : at + 8], "little")


def _left(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _WORD


def _right(value: int, bits: int) -> int:
    value &= _WORD
    return (value >> bits | value << (64 - bits)) & _WORD


def _shift_mix(value: int) -> int:
    value &= _WORD
    return value ^ value >> 47


def _pair(first: int, second: int, factor: int) -> int:
    mixed = _shift_mix((first ^ second) * factor)
    return _shift_mix((second ^ mixed) * factor) * factor & _WORD


def _up_to_16(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    if size >= 8:
        a, b = (_fetch(text, 0) + _K2) & _WORD, _fetch(text, -8)
        c = (_right(b, 37) * factor + a) & _WORD
        d = (_right(a, 25) + b) * factor & _WORD
        return _pair(c, d, factor)
    if size >= 4:
        first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
        return _pair(size + (first << 3), last, factor)
    if size:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[-1] << 2)
        return _shift_mix(y * _K2 & _WORD ^ z * _K0 & _WORD) * _K2 & _WORD
    return _K2


def _up_to_32(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _fetch(text, 0) * _K1, _fetch(text, 8)
    c, d = _fetch(text, -8) * factor, _fetch(text, -16) * _K2
    first = _right(a + b, 43) + _right(c, 30) + d
    second = a + _right(b + _K2, 18) + c
    return _pair(first & _WORD, second & _WORD, factor)


def _up_to_64(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _fetch(text, 0) * _K2, _fetch(text, 8)
    c, d = _fetch(text, -8) * factor, _fetch(text, -16) * _K2
    y = (_right(a + b, 43) + _right(c, 30) + d) & _WORD
    z = _pair(y, (a + _right(b + _K2, 18) + c) & _WORD, factor)
    e, f = _fetch(text, 16) * factor, _fetch(text, 24)
    g, h = (y + _fetch(text, -32)) * factor, (z + _fetch(text, -24)) * factor
    first = _right(e + f, 43) + _right(g, 30) + h
    second = e + _right(f + a, 18) + g
    return _pair(first & _WORD, second & _WORD, factor)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_fetch(text, at + place) for place in (0, 8, 16, 24))
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    b += _right(a, 44)
    return (a + z) & _WORD, (b + c) & _WORD


def _long(text: bytes, size: int) -> int:
    x, y = 81 * _K2 & _WORD, (81 * _K1 + 113) & _WORD
    z = _shift_mix(y * _K2 + 113) * _K2 & _WORD
    x += _fetch(text, 0)
    v, w = (0, 0), (0, 0)
    for at in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _block(text, at, (x, y, z, v, w), _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + ((size - 1) & 63)) & _WORD, w[1]
    v = (v[0] + w[0]) & _WORD, v[1]
    w = (w[0] + v[0]) & _WORD, w[1]
    x, y, z, v, w = _block(text, size - 64, (x, y, z, v, w), factor, 9)
    first = _pair(v[0], w[0], factor) + _shift_mix(y) * _K0 + z
    return _pair(first & _WORD, (_pair(v[1], w[1], factor) + x) & _WORD, factor)


_State = tuple[int, int, int, tuple[int, int], tuple[int, int]]


def _block(text: bytes, at: int, state: _State, factor: int, weight: int) -> _State:
    """Return the state after 64 more bytes."""
    x, y, z, v, w = state
    x = _right(x + y + v[0] + _fetch(text, at + 8), 37) * factor & _WORD
    y = _right(y + v[1] + _fetch(text, at + 48), 42) * factor & _WORD
    x ^= w[1] * weight & _WORD
    y = (y + v[0] * weight + _fetch(text, at + 40)) & _WORD
    z = _right(z + w[0], 33) * factor & _WORD
    v = _weak(text, at, v[1] * factor, x + w[0])
    w = _weak(text, at + 32, z + w[1], y + _fetch(text, at + 16))
    return z, y, x, v, w
