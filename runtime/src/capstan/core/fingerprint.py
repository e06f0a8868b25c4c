"""`Hash64` of core/lib/hash/hash.cc (Murmur 2), the hash of StringToHashBucket."""

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


def _fetch(text: bytes, at: int) -> int:
    """Return the 64 bits at a place."""
    return int.from_bytes(text[at : at + 8], "little")
