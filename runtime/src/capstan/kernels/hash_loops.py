"""A loop that hashes strings, in the part of Python that is compiled (`hardware.cpu_loops`).

The formulas are those of `core.farmhash`, for words of 64 bits, which wrap around.
"""

from typing import Any, Final

from capstan.core.words import word

LONGEST: Final = 64
"""The most bytes of a string that the loop hashes."""

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_LOW: Final = 0xFFFFFFFF


def hash_strings(data: Any, starts: Any, sizes: Any, hashes: Any) -> int:
    """Write the fingerprint of each string, but not of those that are longer than `LONGEST`.

    Eight bytes of `data` can be read from each byte of a string. Return how many are longer.
    """
    longer = 0
    for place in range(len(starts)):
        at = starts[place]
        size = sizes[place]
        if size == 0:
            hashes[place] = _K2
        elif size <= 3:
            hashes[place] = up_to_3(data, at, size)
        elif size <= 7:
            first = word(data, at) & _LOW
            last = word(data, at + size - 4) & _LOW
            hashes[place] = pair(size + (first << 3), last, _K2 + size * 2)
        elif size <= 16:
            hashes[place] = up_to_16(data, at, size)
        elif size <= 32:
            hashes[place] = up_to_32(data, at, size)
        elif size <= LONGEST:
            hashes[place] = up_to_64(data, at, size)
        else:
            longer += 1
    return longer


def right(value: int, bits: int) -> int:
    return (value >> bits) | (value << (64 - bits))


def mixed(value: int) -> int:
    return value ^ (value >> 47)


def pair(first: int, second: int, factor: int) -> int:
    middle = mixed((first ^ second) * factor)
    return mixed((second ^ middle) * factor) * factor


def up_to_3(data: Any, at: int, size: int) -> int:
    y = data[at] + (data[at + (size >> 1)] << 8)
    z = size + (data[at + size - 1] << 2)
    return mixed(y * _K2 ^ z * _K0) * _K2


def up_to_16(data: Any, at: int, size: int) -> int:
    factor = _K2 + size * 2
    a = word(data, at) + _K2
    b = word(data, at + size - 8)
    return pair(right(b, 37) * factor + a, (right(a, 25) + b) * factor, factor)


def up_to_32(data: Any, at: int, size: int) -> int:
    factor = _K2 + size * 2
    a = word(data, at) * _K1
    b = word(data, at + 8)
    c = word(data, at + size - 8) * factor
    d = word(data, at + size - 16) * _K2
    first = right(a + b, 43) + right(c, 30) + d
    return pair(first, a + right(b + _K2, 18) + c, factor)


def up_to_64(data: Any, at: int, size: int) -> int:
    factor = _K2 + size * 2
    a = word(data, at) * _K2
    b = word(data, at + 8)
    c = word(data, at + size - 8) * factor
    d = word(data, at + size - 16) * _K2
    y = right(a + b, 43) + right(c, 30) + d
    z = pair(y, a + right(b + _K2, 18) + c, factor)
    e = word(data, at + 16) * factor
    f = word(data, at + 24)
    g = (y + word(data, at + size - 32)) * factor
    h = (z + word(data, at + size - 24)) * factor
    return pair(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, factor)
