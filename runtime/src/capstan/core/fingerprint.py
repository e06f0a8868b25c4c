"""Two of the 64-bit hashes of strings that TensorFlow's ops return.

Sources: `Hash64` of core/lib/hash/hash.cc (Murmur 2), and SipHash-2-4. `farmhash` has the third.
"""

from collections.abc import Sequence

_WORD = (1 << 64) - 1
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


def murmur64(text: bytes) -> int:
    """Return TensorFlow's `Hash64` of a string."""
    state = _MURMUR_SEED ^ (len(text) * _MURMUR & _WORD)
    aligned = len(text) & ~7
    for at in range(0, aligned, 8):
        part = _fetch(text, at) * _MURMUR & _WORD
        part = (part ^ part >> 47) * _MURMUR & _WORD
        state = (state ^ part) * _MURMUR & _WORD
    if aligned < len(text):
        state = (state ^ int.from_bytes(text[aligned:], "little")) * _MURMUR & _WORD
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


def _fetch(text: bytes, at: int) -> int:
    """Return the 64 bits at a place."""
    return int.from_bytes(text[at : at + 8], "little")


def _left(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _WORD
