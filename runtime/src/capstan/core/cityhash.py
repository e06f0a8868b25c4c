"""`Fingerprint128` of core/platform/fingerprint.h (CityHash128 in FarmHash)."""

from typing import Final

_WORD: Final = (1 << 64) - 1
_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_PAIR: Final = 0x9DDFEA08EB382D69

_Pair = tuple[int, int]


def fingerprint128(text: bytes) -> _Pair:
    """Return the lower and the higher 64 bits of the fingerprint of a string."""
    if len(text) < 16:
        return _short(text, _K0, _K1)
    low, high = _at(text, 0), (_at(text, 8) + _K0) & _WORD
    rest = text[16:]
    return _short(rest, low, high) if len(rest) < 128 else _long(rest, low, high)


def _short(text: bytes, a: int, b: int) -> _Pair:
    size = len(text)
    if size <= 16:
        a = _mix(a * _K1) * _K1 & _WORD
        c = (b * _K1 + _up_to_16(text)) & _WORD
        d = _mix(a + (_at(text, 0) if size >= 8 else c))
    else:
        c = _paired(_at(text, size - 8) + _K1, a)
        d = _paired(b + size, c + _at(text, size - 16))
        a = (a + d) & _WORD
        for at in range(0, size - 16, 16):
            a = (a ^ _mix(_at(text, at) * _K1) * _K1 & _WORD) * _K1 & _WORD
            b ^= a
            c = (c ^ _mix(_at(text, at + 8) * _K1) * _K1 & _WORD) * _K1 & _WORD
            d ^= c
    a, b = _paired(a, c), _paired(d, b)
    return a ^ b, _paired(b, a)


def _long(text: bytes, x: int, y: int) -> _Pair:
    size, at = len(text), 0
    z = size * _K1 & _WORD
    v0 = (_right(y ^ _K1, 49) * _K1 + _at(text, 0)) & _WORD
    v = v0, (_right(v0, 42) * _K1 + _at(text, 8)) & _WORD
    w = (_right(y + z, 35) * _K1 + x) & _WORD, _right(x + _at(text, 88), 53) * _K1 & _WORD
    while size >= 128:
        for _ in range(2):
            x = _right(x + y + v[0] + _at(text, at + 8), 37) * _K1 & _WORD
            y = _right(y + v[1] + _at(text, at + 48), 42) * _K1 & _WORD
            x ^= w[1]
            y = (y + v[0] + _at(text, at + 40)) & _WORD
            z = _right(z + w[0], 33) * _K1 & _WORD
            v = _weak(text, at, v[1] * _K1, x + w[0])
            w = _weak(text, at + 32, z + w[1], y + _at(text, at + 16))
            x, z, at = z, x, at + 64
        size -= 128
    x = (x + _right(v[0] + z, 49) * _K0) & _WORD
    y = (y * _K0 + _right(w[1], 37)) & _WORD
    z = (z * _K0 + _right(w[0], 27)) & _WORD
    w, v = (w[0] * 9 & _WORD, w[1]), (v[0] * _K0 & _WORD, v[1])
    end, done = len(text), 0
    while done < size:
        done += 32
        y = (_right(x + y, 42) * _K0 + v[1]) & _WORD
        w0 = (w[0] + _at(text, end - done + 16)) & _WORD
        x = (x * _K0 + w0) & _WORD
        z = (z + w[1] + _at(text, end - done)) & _WORD
        w = w0, (w[1] + v[0]) & _WORD
        v = _weak(text, end - done, v[0] + z, v[1])
        v = v[0] * _K0 & _WORD, v[1]
    x, y = _paired(x, v[0]), _paired(y + z, w[0])
    return (_paired(x + v[1], w[1]) + y) & _WORD, _paired(x + w[1], y + v[1])


def _up_to_16(text: bytes) -> int:
    size = len(text)
    factor = (_K2 + size * 2) & _WORD
    if size >= 8:
        a, b = (_at(text, 0) + _K2) & _WORD, _at(text, size - 8)
        c = (_right(b, 37) * factor + a) & _WORD
        return _paired(c, (_right(a, 25) + b) * factor, factor)
    if size >= 4:
        first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
        return _paired(size + (first << 3), last, factor)
    if size:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[-1] << 2)
        return _mix(y * _K2 ^ z * _K0) * _K2 & _WORD
    return _K2


def _weak(text: bytes, at: int, a: int, b: int) -> _Pair:
    w, x, y, z = (_at(text, at + place) for place in (0, 8, 16, 24))
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    b += _right(a, 44)
    return (a + z) & _WORD, (b + c) & _WORD


def _paired(first: int, second: int, factor: int = _PAIR) -> int:
    first, second = first & _WORD, second & _WORD
    mixed = _mix((first ^ second) * factor)
    return _mix((second ^ mixed) * factor) * factor & _WORD


def _mix(value: int) -> int:
    value &= _WORD
    return value ^ value >> 47


def _right(value: int, bits: int) -> int:
    value &= _WORD
    return (value >> bits | value << (64 - bits)) & _WORD


def _at(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 8], "little")
