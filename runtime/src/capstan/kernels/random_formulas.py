"""The formulas of random numbers on devices: Philox, and distributions of its words.

All calls are elementwise functions of NumPy, so that a GPU draws the numbers in one kernel
(`core.elementwise`). Each number comes from one word of 32 bits, or from one word of 64 bits if the
number has 64 bits.

Sources: Salmon and others, "Parallel random numbers: as easy as 1, 2, 3" (2011) for Philox, and
Wichura, "Algorithm AS 241: the percentage points of the normal distribution" (1988). The key and
the counter are used as in TensorFlow (core/lib/random/philox_random.h).
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import elementwise, recording
from capstan.core.arrays import Array

Formula = Callable[..., Any]
"""Takes words, the dtype of the numbers, and 64-bit words of the call. Returns the numbers.

The formula computes in single precision for half-precision numbers. `program` rounds the result.
"""

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def philox(seeds: Any, count: Any, stream: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four 32-bit words of Philox4x32-10 for each 64-bit `count`.

    `seeds` are the 64 bits of the key. `stream` are the upper 64 bits of the counter.
    """
    a, b = _halves(count)
    c, d = _halves(stream)
    key, key2 = _halves(seeds)
    for _ in range(_ROUNDS):
        low, high = _halves(a.astype(np.uint64) * np.uint64(_MULTIPLIERS[0]))
        low2, high2 = _halves(c.astype(np.uint64) * np.uint64(_MULTIPLIERS[1]))
        a, b, c, d = high2 ^ b ^ key, low2, high ^ d ^ key2, low
        key, key2 = key + np.uint32(_STEPS[0]), key2 + np.uint32(_STEPS[1])
    return a, b, c, d


def _halves(words: Any) -> tuple[Any, Any]:
    """Return the lower and the upper 32 bits of words of 64 bits."""
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def uniform(words: Array, dtype: np.dtype[Any]) -> Any:
    """Return numbers in [0, 1), which are multiples of the dtype's step below 1."""
    bits, precision = 8 * words.dtype.itemsize, digits(dtype)
    return (words >> bits - precision).astype(_computed(dtype)) * 2.0**-precision


def digits(dtype: np.dtype[Any]) -> int:
    """Return the number of binary digits of a number of `dtype`."""
    return 8 if dtype.name == "bfloat16" else int(np.finfo(dtype).nmant) + 1


def normal(words: Array, dtype: np.dtype[Any]) -> Any:
    """Return numbers of the normal distribution, by its inverse.

    One bit of the word is the sign. The other bits are the middle of one of 2**31 or 2**63 equally
    probable intervals.
    """
    bits, rest = 8 * words.dtype.itemsize, words >> 1
    from_end = (rest.astype(_computed(dtype)) + 0.5) * 2.0**-bits
    from_middle = ((rest ^ (1 << bits - 1) - 1).astype(_computed(dtype)) + 0.5) * 2.0**-bits
    return _signed(words, quantile(from_middle, from_end, dtype))


BOUND = 2.0
"""A truncated normal distribution has no values beyond this many standard deviations."""

_WITHIN_BOUND = 0.4772498680518208
"""The probability that a normally distributed number is between 0 and `BOUND`."""


def truncated(words: Array, dtype: np.dtype[Any]) -> Any:
    """Return numbers of the truncated normal distribution, by its inverse.

    No number is drawn again, so each number takes one word.
    """
    bits = 8 * words.dtype.itemsize
    part = ((words >> 1).astype(_computed(dtype)) + 0.5) * 2.0 ** (1 - bits)
    from_middle = part * _WITHIN_BOUND
    size = quantile(from_middle, 0.5 - from_middle, dtype)
    return _signed(words, np.minimum(size, BOUND))


def gumbel(words: Array, dtype: np.dtype[Any]) -> Any:
    """Return numbers of the Gumbel distribution. All are finite.

    The class with the largest sum of its logit and such a number is a draw by the logits.
    """
    part = (words.astype(_computed(dtype)) + 0.5) * 2.0 ** -(8 * words.dtype.itemsize)
    # Rounding may give 1.
    part = np.minimum(part, 1 - float(np.finfo(_computed(dtype)).epsneg))
    return -np.log(-np.log1p(-part))


def integers(words: Array, _: np.dtype[Any], low: Array, count: Array) -> Any:
    """Return one of `count` integers from `low`. All are 64-bit words.

    As in TensorFlow, this is the rest of a division. The probability of an integer differs from
    1 / `count` by 2**-64 at most.
    """
    return words % count + low


def _computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which numbers are computed."""
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def _signed(words: Array, sizes: Array) -> Any:
    """Return the numbers with the sign that the last bit of each word gives."""
    return np.where((words & 1) == 0, sizes, -sizes)


def quantile(from_middle: Array, from_end: Array, dtype: np.dtype[Any]) -> Any:
    """Return the normally distributed number that is larger than 0.5 + `from_middle` of all.

    `from_end` is 0.5 - `from_middle`. The caller gives both, because one is exact where the
    difference is not.
    """
    middle, upper, *end = _WIDE if dtype.itemsize == 8 else _NARROW
    root = np.sqrt(-np.log(from_end))
    inner = from_middle * _ratio(middle, 0.180625 - from_middle * from_middle)
    outer = _ratio(upper, root - 1.6)
    for ratio in end:
        outer = np.where(root <= 5.0, outer, _ratio(ratio, root - 5.0))
    return np.where(from_middle <= 0.425, inner, outer)


def _ratio(coefficients: "_Ratio", x: Array) -> Any:
    above, below = (_polynomial(each, x) for each in coefficients)
    return above / below


def _polynomial(coefficients: Sequence[float], x: Array) -> Any:
    """Return the polynomial whose last coefficient belongs to the highest power."""
    *others, value = coefficients
    result: Any = value
    for each in reversed(others):
        result = result * x + each
    return result


_Ratio = tuple[Sequence[float], Sequence[float]]
"""The coefficients of two polynomials."""

_NARROW: tuple[_Ratio, ...] = (
    (
        (3.3871327179, 5.0434271938e1, 1.5929113202e2, 5.9109374720e1),
        (1.0, 1.7895169469e1, 7.8757757664e1, 6.7187563600e1),
    ),
    (
        (1.4234372777, 2.7568153900, 1.3067284816, 1.7023821103e-1),
        (1.0, 7.3700164250e-1, 1.2021132975e-1),
    ),
)
"""The coefficients of Wichura's PPND7 for the middle and the upper part.

No word of 32 bits is in the part near the end.
"""
_WIDE: tuple[_Ratio, ...] = (
    (
        (
            3.3871328727963666080e0,
            1.3314166789178437745e2,
            1.9715909503065514427e3,
            1.3731693765509461125e4,
            4.5921953931549871457e4,
            6.7265770927008700853e4,
            3.3430575583588128105e4,
            2.5090809287301226727e3,
        ),
        (
            1.0,
            4.2313330701600911252e1,
            6.8718700749205790830e2,
            5.3941960214247511077e3,
            2.1213794301586595867e4,
            3.9307895800092710610e4,
            2.8729085735721942674e4,
            5.2264952788528545610e3,
        ),
    ),
    (
        (
            1.42343711074968357734e0,
            4.63033784615654529590e0,
            5.76949722146069140550e0,
            3.64784832476320460504e0,
            1.27045825245236838258e0,
            2.41780725177450611770e-1,
            2.27238449892691845833e-2,
            7.74545014278341407640e-4,
        ),
        (
            1.0,
            2.05319162663775882187e0,
            1.67638483018380384940e0,
            6.89767334985100004550e-1,
            1.48103976427480074590e-1,
            1.51986665636164571966e-2,
            5.47593808499534494600e-4,
            1.05075007164441684324e-9,
        ),
    ),
    (
        (
            6.65790464350110377720e0,
            5.46378491116411436990e0,
            1.78482653991729133580e0,
            2.96560571828504891230e-1,
            2.65321895265761230930e-2,
            1.24266094738807843860e-3,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
        ),
        (
            1.0,
            5.99832206555887937690e-1,
            1.36929880922735805310e-1,
            1.48753612908506148525e-2,
            7.86869131145613259100e-4,
            1.84631831751005468180e-5,
            1.42151175831644588870e-7,
            2.04426310338993978564e-15,
        ),
    ),
)
"""The coefficients of Wichura's PPND16 for the middle, the upper part and the part near the end."""


@functools.cache
def program(formula: Formula, dtype: np.dtype[Any], strips: int, more: int) -> elementwise.Program:
    """Return the program that draws `strips` vectors of the same length.

    Element k of the vectors comes from the same four words of Philox. A program for 64-bit numbers
    draws at most 2 vectors, and any other program at most 4. The inputs are:

    * a vector of the same length and dtype, whose values are not used,
    * the seeds, the upper part of the counter, and its first value, each a word of 64 bits, and
    * `more` words of 64 bits for the formula.
    """
    recorder = recording.Recorder(_computed(dtype))
    target = recorder.input(dtype=dtype)
    seeds, stream, first, *given = (recorder.input(dtype=np.uint64) for _ in range(3 + more))
    words: Any = philox(seeds, recorder.positions(target) + first, stream)
    if dtype.itemsize == 8:
        a, b, c, d = (word.astype(np.uint64) for word in words)
        words = a << np.uint64(32) | b, c << np.uint64(32) | d
    results = [formula(each, dtype, *given).astype(dtype) for each in words[:strips]]
    return recorder.program(results)


@functools.cache
def ticket() -> elementwise.Program:
    """Return the program that takes values of a counter.

    The inputs are the counter and a number of values. The results are the first of these values,
    and the counter after them.
    """
    recorder = recording.Recorder(np.float64)
    counter, values = (recorder.input(dtype=np.uint64) for _ in range(2))
    return recorder.program([counter, counter + values])


@functools.cache
def words() -> elementwise.Program:
    """Return the program of `philox`.

    The inputs are a vector of counts, the seeds and the upper part of the counter, all words of 64
    bits. The results are four vectors of words of 32 bits.
    """
    recorder = recording.Recorder(np.float64)
    count, seeds, stream = (recorder.input(dtype=np.uint64) for _ in range(3))
    return recorder.program(philox(seeds, count, stream))
