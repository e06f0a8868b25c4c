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


PHILOX: Final = 1
"""TensorFlow's number of the algorithm of Philox (core/framework/rng_alg.h)."""

AUTOMATIC: Final = 3
"""The algorithm of the device, which is Philox here."""


class Words:
    """The words of Philox for a key, in the memory of a device, by counter value."""

    def __init__(
        self,
        key: tuple[Array, Array],
        home: device.Device,
        draw: device.Compiled,
        start: np.uint64 | None = None,
    ) -> None:
        """`key` holds the key, and the upper half of the counter, in host memory. `draw` runs
        `random_formulas.words()`. `start` is added to the counter values.
        """
        self.key, self.stream = key
        self.arrays = home.arrays
        self.start = np.uint64(0) if start is None else start
        self._draw = None if home.is_host else draw

    def at(self, counts: Array) -> Array:
        """Return four words of 32 bits for each value of the counter, in a row."""
        counts = counts.astype(np.uint64)
        if self.start:
            counts = counts + self.start
        words: tuple[Array, ...]
        if self._draw is None:  # Keeps fewer arrays alive than the program.
            words = random_formulas.philox(self.key, counts, self.stream)
        else:
            words = self._draw([counts, self.key[0], self.stream[0]])
        return np.stack(words, 1)

    def first(self, count: int) -> Array:
        """Return the first words, `count` at least, as a vector."""
        return self.at(self.arrays.arange(-(-count // 4))).reshape(-1)


def scrambled(seed: Array) -> tuple[Array, Array]:
    """Return the key of two seeds, and the upper half of their counter, as vectors of one word.

    Raises:
        InvalidArgumentError: the seed does not hold two integers.
    """
    if seed.shape != (2,):
        raise invalid(f"seed must have shape [2], not {shapes.show(seed.shape)}")
    first, second = seed.astype(np.int64).view(np.uint64).reshape(2, 1)
    words = random_formulas.philox(np.array([_SCRAMBLER], np.uint64), first, second)
    a, b, c, d = (word.astype(np.uint64) for word in words)
    return a | b << np.uint64(32), c | d << np.uint64(32)


Source = Callable[..., Words]
"""Returns the words for a seed, or for a key, a counter and an algorithm."""


def of_seed(node: NodeContext) -> Source:
    """Return the function that makes the words of a seed."""
    home = node.hardware
    draw = home.compile(random_formulas.words())
    return lambda seed: Words(scrambled(seed), home, draw)


def of_key(node: NodeContext) -> Source:
    """Return the function that makes the words of a key, a counter and an algorithm."""
    home = node.hardware
    draw = home.compile(random_formulas.words())

    def words_of(key: Array, counter: Array, algorithm: Array) -> Words:
        if algorithm.ndim:
            raise invalid(f"algorithm must be of shape [], not {shapes.show(algorithm.shape)}")
        if algorithm.item() not in (PHILOX, AUTOMATIC):
            raise invalid(f"Unsupported algorithm id: {algorithm.item()}")
        for values, least, name in ((key, 1, "key"), (counter, 2, "counter")):
            if values.ndim != 1 or len(values) < least:
                raise invalid(
                    f"{name} must be a vector of {least} elements at least, not of shape "
                    f"{shapes.show(values.shape)}"
                )
        return Words((key[:1], counter[1:2]), home, draw, counter[0])

    return words_of


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


def uniform(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    return _uniform_of(words.first(count * _width(dtype)), dtype)


def normal(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    return _normal_of(words.first(count * _width(dtype)), dtype)


def _width(dtype: np.dtype[Any]) -> int:
    """Return the number of words for a number."""
    return 2 if dtype.itemsize == 8 else 1


def truncated(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
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


def sampler(
    draw: Callable[[Words, int, np.dtype[Any]], Array], source: Callable[[NodeContext], Source]
) -> Callable[[NodeContext], Function]:
    """Return a kernel that takes a shape, and what its source of words takes."""

    def make(node: NodeContext) -> Function:
        dtype, words_of = np.dtype(node.output_dtypes[0].as_numpy_dtype), source(node)

        def sample(shape: Array, *key: Array) -> Array:
            sizes = sizes_in(shape)
            count = math.prod(sizes)
            return draw(words_of(*key), count, dtype)[:count].astype(dtype).reshape(sizes)

        return sample

    return make


def whole(words: Words, count: int, dtype: np.dtype[Any]) -> Array:
    """Return integers from the whole range of an unsigned type of 32 or 64 bits."""
    found = words.first(count * _width(dtype))
    if dtype.itemsize == 8:
        found = found[::2].astype(np.uint64) | found[1::2].astype(np.uint64) << np.uint64(32)
    return found[:count]


def integers_between(
    words: Words, count: int, dtype: np.dtype[Any], minval: Array, maxval: Array
) -> Array:
    """Return integers from `minval` to below `maxval`.

    Raises:
        InvalidArgumentError: a bound is not a scalar, or there is no such integer.
    """
    for bound, name in ((minval, "minval"), (maxval, "maxval")):
        if bound.ndim:
            raise invalid(f"{name} must be 0-D, got shape {shapes.show(bound.shape)}")
    low, high = minval.item(), maxval.item()
    if count and low >= high:
        raise invalid(f"Need minval < maxval, got {low} >= {high}")
    unsigned = np.dtype(f"u{dtype.itemsize}")
    drawn = whole(words, count, unsigned)
    rest = drawn % unsigned.type(high - low) if count else drawn
    # The sum wraps around, as low may be negative.
    shifted: Array = rest + unsigned.type(low % (1 << 8 * dtype.itemsize))
    return shifted.astype(dtype)


def _integers(source: Callable[[NodeContext], Source]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype, words_of = np.dtype(node.output_dtypes[0].as_numpy_dtype), source(node)

        def sample(shape: Array, *arguments: Array) -> Array:
            *key, minval, maxval = arguments
            sizes = sizes_in(shape)
            words = words_of(*key)
            drawn = integers_between(words, math.prod(sizes), dtype, minval, maxval)
            return _placed(drawn.reshape(sizes))

        return sample

    return make


def _whole(source: Callable[[NodeContext], Source]) -> Callable[[NodeContext], Function]:
    make_all = sampler(whole, source)

    def make(node: NodeContext) -> Function:
        draw = make_all(node)
        return lambda *arguments: _placed(draw(*arguments))

    return make


def _placed(drawn: Array) -> Array:
    """Return integers where every device has them: those of 32 bits are in host memory."""
    return memory.on_host(drawn) if drawn.dtype == np.int32 else drawn


def _multinomial(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    home, words_of = node.hardware, of_seed(node)

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


def _key_of(node: NodeContext) -> Function:
    has_algorithm = len(node.output_dtypes) == 3

    def key_of(seed: Array) -> tuple[Array, ...]:
        key, stream = scrambled(seed)
        counter = np.append(np.zeros(1, np.uint64), stream)
        return (key, counter, np.array(PHILOX, np.int32)) if has_algorithm else (key, counter)

    return key_of


for _name, _draw in (
    ("RandomUniform", uniform),
    ("RandomNormal", normal),
    ("TruncatedNormal", truncated),
):
    register(Kernel(f"Stateless{_name}", sampler(_draw, of_seed)))
    register(Kernel(f"Stateless{_name}V2", sampler(_draw, of_key)))
register(Kernel("StatelessRandomUniformInt", _integers(of_seed)))
register(Kernel("StatelessRandomUniformIntV2", _integers(of_key)))
register(Kernel("StatelessRandomUniformFullInt", _whole(of_seed)))
register(Kernel("StatelessRandomUniformFullIntV2", _whole(of_key)))
register(Kernel("StatelessMultinomial", _multinomial))
register(Kernel("StatelessRandomGetKeyCounter", _key_of))
register(Kernel("StatelessRandomGetKeyCounterAlg", _key_of))
register(Kernel("StatelessRandomGetAlg", lambda _: lambda: np.array(PHILOX, np.int32)))
