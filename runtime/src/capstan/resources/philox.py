"""TensorFlow's random numbers (core/lib/random/philox_random.h): Philox 4x32 with ten rounds.

Queues that shuffle draw these numbers, so the same seeds give TensorFlow's order.
"""

from collections.abc import Iterator

import numpy as np

from capstan.core.arrays import Array

_WORD = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_FIRST, _MOST = 4, 256
"""The number of values of the counter that are computed at once: at first, and at most."""


def numbers(seed: int, seed2: int) -> Iterator[int]:
    """Yield the 32-bit numbers of TensorFlow's generator with these two 64-bit seeds."""
    keys = seed & _WORD, seed >> 32 & _WORD
    start, count = 0, _FIRST
    while True:
        yield from _blocks(start, count, seed2 & 0xFFFFFFFFFFFFFFFF, keys)
        start += count
        count = min(2 * count, _MOST)


def _blocks(start: int, count: int, seed2: int, keys: tuple[int, int]) -> list[int]:
    """Return the numbers of `count` values of the counter: four numbers for each.

    The lower half of the counter counts from `start`. The upper half is `seed2`.
    """
    low: Array = np.arange(start, start + count, dtype=np.uint64)
    high: list[Array] = [np.full(count, word, np.uint64) for word in (seed2 & _WORD, seed2 >> 32)]
    a, b = low & _WORD, low >> 32
    c, d = high
    key, key2 = keys
    for _ in range(_ROUNDS):
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (
            (second >> 32) ^ b ^ key,
            second & _WORD,
            (first >> 32) ^ d ^ key2,
            first & _WORD,
        )
        key, key2 = (key + _STEPS[0]) & _WORD, (key2 + _STEPS[1]) & _WORD
    found: list[int] = np.stack((a, b, c, d), axis=1).ravel().tolist()
    return found
