"""Kernels of random ops whose numbers depend only on their seeds. They are TensorFlow's numbers.

Sources: core/kernels/{stateless_random_ops,random_op,multinomial_op}.cc and
core/lib/random/random_distributions.h. The words, the uniform numbers and the integers are equal
to TensorFlow's bit by bit. The logarithms and sines of the other numbers are rounded correctly.
Those of TensorFlow are not always, so about one normal number of 70 differs in its last digit.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.hardware import device
from capstan.kernels import memory, multinomial, random_formulas
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_SCRAMBLER: Final = 0x02461E293EC8F720
"""The key of the generator that makes the key and the counter of a call from its seeds."""

_LEAST: Final = 1e-7
"""Smaller uniform numbers are not given to the logarithm."""

_RESERVED: Final = 256
"""The number of words that are reserved for a truncated normal number, as some are dropped."""

_FRACTION: Final = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
"""The number of binary digits of a number of a type, after the first one."""


class Words:
    """The words of Philox for two seeds, in the memory of a device, by counter value."""

    def __init__(self, seed: Array, home: device.Device, draw: device.Compiled) -> None:
        """`seed` holds two integers. It is in host memory. `draw` runs `random_formulas.words()`.

        Raises:
            InvalidArgumentError: the seed does not hold two integers.
        """
        if seed.shape != (2,):
            raise invalid(f"seed must have shape [2], not {shapes.show(seed.shape)}")
        first, second = seed.astype(np.int64).view(np.uint64).reshape(2, 1)
        words = random_formulas.philox(np.array([_SCRAMBLER], np.uint64), first, second)
        a, b, c, d = (word.astype(np.uint64) for word in words)
        self._key, self._stream = a | b << np.uint64(32), c | d << np.uint64(32)
        self.arrays = home.arrays
        self._draw = None if home.is_host else draw

    def at(self, counts: Array) -> Array:
        """Return four words of 32 bits for each value of the counter, in a row."""
        counts = counts.astype(np.uint64)
        words: tuple[Array, ...]
        if self._draw is None:  # Keeps fewer arrays alive than the program.
            words = random_formulas.philox(self._key, counts, self._stream)
        else:
            words = self._draw([counts, self._key[0], self._stream[0]])
        return np.stack(words, 1)

    def first(self, count: int) -> Array:
        """Return the first words, `count` at least, as a vector."""
        return self.at(self.arrays.arange(-(-count // 4))).reshape(-1)


def _words(node: NodeContext) -> Callable[[Array], Words]:
    """Return the function that makes the words of a seed."""
    home = node.hardware
    draw = home.compile(random_formulas.words())
    return lambda seed: Words(seed, home, draw)


def _uniform_of(words: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers in [0, 1), one for each word, or for two words if they have 64 bits."""
    step = 2.0 ** -_FRACTION[dtype.name]
    if dtype == np.float64:
        high, low = (words[at::2].astype(np.uint64) for at in (0, 1))
        bits = (high & np.uint64(0xFFFFF)) << np.uint64(32) | low
        return bits.astype(np.float64) * step
    bits = words & np.uint32((1 << _FRACTION[dtype.name]) - 1)
    return (bits.astype(np.float32) * np.float32(step)).astype(dtype)


def _normal_of(words: Array, dtype: np.dtype[Any]) -> Array:
    """Return normally distributed numbers, as many as `_uniform_of`, by Box and Muller's formula.

    Two numbers come from two uniform numbers, so the number of words is even, or divides by 4.
    """
    computed = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    uniform = _uniform_of(words, computed)
    u = np.maximum(uniform[::2], computed.type(_LEAST)).astype(np.float64)
    angle = (2 * np.pi * uniform[1::2].astype(np.float64)).astype(computed).astype(np.float64)
    radius = np.sqrt(computed.type(-2) * np.log(u).astype(computed))
    pair = (np.sin(angle).astype(computed) * radius, np.cos(angle).astype(computed) * radius)
    return np.stack(pair, 1).reshape(-1)


def _uniform(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    return _uniform_of(words.first(count * _width(dtype)), dtype)


def _normal(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    return _normal_of(words.first(count * _width(dtype)), dtype)


def _width(dtype: np.dtype[Any]) -> int:
    """Return the number of words for a number."""
    return 2 if dtype.itemsize == 8 else 1


def _truncated(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    """Draw groups of numbers, each from words of its own. Drop the numbers beyond the bound."""
    size = 4 // _width(dtype)
    groups = -(-count // size)
    wide = np.float64 if dtype == np.float64 else np.float32
    arrays = words.arrays
    found: Array = arrays.zeros((groups, size), wide)
    filled = arrays.zeros(groups, int)
    left, turn = arrays.arange(groups), 0
    while left.size:
        counts = left * (size * _RESERVED // 4) + turn
        proposed = _normal_of(words.at(counts).reshape(-1), dtype).reshape(-1, size)
        is_inside = np.abs(proposed) < random_formulas.BOUND
        places = filled[left, None] + np.cumsum(is_inside, 1) - 1
        is_taken = is_inside & (places < size)
        row, column = np.argwhere(is_taken).T
        found[left[row], places[row, column]] = proposed[row, column]
        filled[left] += is_taken.sum(1)
        left, turn = left[np.argwhere(filled[left] < size)[:, 0]], turn + 1
    return found.reshape(-1)


def _sampler(
    draw: Callable[[Words, int, np.dtype[Any]], Array],
) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype, words_of = np.dtype(node.output_dtypes[0].as_numpy_dtype), _words(node)

        def sample(shape: Array, seed: Array) -> Array:
            sizes = sizes_in(shape)
            count = math.prod(sizes)
            return draw(words_of(seed), count, dtype)[:count].astype(dtype).reshape(sizes)

        return sample

    return make


def _integers(node: NodeContext) -> Function:
    dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    words_of = _words(node)

    def sample(shape: Array, seed: Array, minval: Array, maxval: Array) -> Array:
        sizes = sizes_in(shape)
        for bound, name in ((minval, "minval"), (maxval, "maxval")):
            if bound.ndim:
                raise invalid(f"{name} must be 0-D, got shape {shapes.show(bound.shape)}")
        low, high, count = minval.item(), maxval.item(), math.prod(sizes)
        if count and low >= high:
            raise invalid(f"Need minval < maxval, got {low} >= {high}")
        words = words_of(seed).first(count * _width(dtype))
        if dtype.itemsize == 8:
            words = words[::2].astype(np.uint64) | words[1::2].astype(np.uint64) << np.uint64(32)
        rest = words[:count] % unsigned.type(high - low) if count else words[:0]
        # The sum wraps around, as low may be negative.
        drawn = (rest + unsigned.type(low % (1 << 8 * dtype.itemsize))).astype(dtype)
        return _placed(drawn.reshape(sizes))

    return sample


def _placed(drawn: Array) -> Array:
    """Return integers where every device has them: those of 32 bits are in host memory."""
    return memory.on_host(drawn) if drawn.dtype == np.int32 else drawn


def _multinomial(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    home, words_of = node.hardware, _words(node)

    def sample(logits: Array, num_samples: Array, seed: Array) -> Array:
        count = multinomial.checked_count(logits, num_samples)
        words = words_of(seed).first(2 * len(logits) * count)[: 2 * len(logits) * count]
        shares = _uniform_of(words, np.dtype(np.float64)).reshape(len(logits), count)
        wide = logits.astype(np.float64)
        is_finite = np.isfinite(wide)
        largest = np.where(is_finite, wide, -np.inf).max(1, keepdims=True)
        weights = np.where(is_finite, np.exp(np.minimum(wide - largest, 0)), 0.0)
        totals = np.cumsum(weights, 1)
        drawn = home.allocate((len(logits), count), np.int64)
        for row, steps in enumerate(totals):
            drawn[row] = np.searchsorted(steps, shares[row] * steps[-1], "right")
        return _placed(drawn.astype(dtype, copy=False))

    return sample


register(Kernel("StatelessRandomUniform", _sampler(_uniform)))
register(Kernel("StatelessRandomNormal", _sampler(_normal)))
register(Kernel("StatelessTruncatedNormal", _sampler(_truncated)))
register(Kernel("StatelessRandomUniformInt", _integers))
register(Kernel("StatelessMultinomial", _multinomial))
