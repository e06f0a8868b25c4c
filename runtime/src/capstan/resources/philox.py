"""TensorFlow's random numbers (core/lib/random/philox_random.h): Philox 4x32 with ten rounds.

Queues that shuffle draw these numbers, so the same seeds give TensorFlow's order.
"""

from collections.abc import Iterator

_WORD = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def numbers(seed: int, seed2: int) -> Iterator[int]:
    """Yield the 32-bit numbers of TensorFlow's generator with these two 64-bit seeds."""
    keys = seed & _WORD, seed >> 32 & _WORD
    counter = (seed2 & 0xFFFFFFFFFFFFFFFF) << 64
    while True:
        yield from _block(counter, *keys)
        counter += 1


def _block(counter: int, key: int, key2: int) -> tuple[int, int, int, int]:
    """Return the four numbers of one value of the counter."""
    a, b, c, d = (counter >> shift & _WORD for shift in (0, 32, 64, 96))
    for _ in range(_ROUNDS):
        first, second = _MULTIPLIERS[0] * a, _MULTIPLIERS[1] * c
        a, b, c, d = (
            (second >> 32) ^ b ^ key,
            second & _WORD,
            (first >> 32) ^ d ^ key2,
            first & _WORD,
        )
        key, key2 = (key + _STEPS[0]) & _WORD, (key2 + _STEPS[1]) & _WORD
    return a, b, c, d
