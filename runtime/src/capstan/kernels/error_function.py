"""The error functions of arrays, to within a few units in the last place of float64.

For |x| below 0.5, erf is its Taylor series. Elsewhere, erfc(x) = exp(-x * x) * R / (1 + 2 * x),
where R is a polynomial in (x - 3) / (x + 3). M. M. Shepherd and J. G. Laframboise proposed this
substitution (Mathematics of Computation 36, 1981). The coefficients were fitted at Chebyshev nodes.

For float32, erf(x) = tanh(x * G), where G is a polynomial in x * x. NumPy's hyperbolic tangent is
fast, and takes away most of the rounding errors of a large argument.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host

_FEW: Final = 2048
"""Python's functions are as fast as blocks for arrays of about this size."""
_FEW_SINGLE: Final = 256
_BLOCK: Final = 8192
_SMALL: Final = 0.5
_TAYLOR: Final = tuple(
    2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(13)
)
_LARGEST: Final = 28.0
"""From here on, erfc is 0."""
_CENTRE: Final = 3.0
_FIRST: Final = (_SMALL - _CENTRE) / (_SMALL + _CENTRE)
_TAIL: Final = (
    1.232995118625553, -0.12216847723549126, -0.0034960135133611826, 0.04665458534667567,
    -0.04180651066530691, 0.022801799600225846, -0.008073603933591267, 0.0013920612359279935,
    0.00024740372631790143, -0.00019788751955773958, 1.74792907533472e-05, 1.8862943946988483e-05,
    -4.577818143401026e-06, -1.9129907464585725e-06, 7.249140938916265e-07, 2.400291444283289e-07,
    -1.0636210215362357e-07, -3.757546128227541e-08, 1.5388041291363622e-08, 6.365884927539397e-09,
    -2.1147728979068466e-09, -9.2548148533077e-10, 2.0320123220674216e-10, 7.976296687800535e-11,
)  # fmt: skip
"""The coefficients of R, in u, which is (x - 3) / (x + 3) scaled to [-1, 1]."""
_ONE: Final = 16.0
"""Where x * x is larger, erf is 1 in float32."""
_GROWTH: Final = (
    0.1283792022748158, 0.1027713154289147, -0.00020215304598280573, -0.0006036797316026498,
    7.648896368966197e-05, -1.8609019529194095e-06, -5.151157309278469e-07, 5.3917882613023667e-08,
    -1.6407890110198213e-09,
)  # fmt: skip
"""The coefficients of G - 1, fitted to the relative error of erf."""


def erf(x: Array) -> Any:
    """Return the error function of float64 numbers."""
    size = np.abs(x)
    return np.where(size < _SMALL, _series(x), np.copysign(1 - _tail(size), x))


def erf_of_single(x: Array) -> Any:
    """Return the error function of float32 numbers, to within 3 units in the last place."""
    result = _polynomial(_GROWTH, np.minimum(x * x, np.float32(_ONE)))
    result *= x
    result += x
    return np.tanh(result, out=result)


def erfc(x: Array) -> Any:
    """Return 1 - erf of float64 numbers. Large arguments have the same relative accuracy."""
    size = np.abs(x)
    tail = _tail(size)
    return np.where(size < _SMALL, 1 - _series(x), np.where(x < 0, 2 - tail, tail))


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Return the sum of coefficients[n] * x**n."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += coefficient
    return total


def _series(x: Any) -> Any:
    near = np.clip(x, -_SMALL, _SMALL)
    return near * _polynomial(_TAYLOR, near * near)


def _tail(size: Any) -> Any:
    """Return erfc of numbers from 0.5 on. Below, return another number."""
    x = np.clip(size, _SMALL, _LARGEST)
    u = ((x - _CENTRE) / (x + _CENTRE) - _FIRST) * (2 / (1 - _FIRST)) - 1
    # x * x is not exact. The square of the first 24 bits is.
    rough = x.astype(np.float32).astype(np.float64)
    power = np.exp(-rough * rough) * np.exp((rough - x) * (rough + x))
    return power * _polynomial(_TAIL, u) / (1 + 2 * x)


def in_blocks(
    function: Callable[[Any], Any],
    each: Callable[[float], float],
    of_single: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:
    """Return the function of a kernel that applies `function` to blocks that fit into the cache.

    `each` is the same function of one number, which is faster for small arrays. `of_single` is one
    of float32 numbers, which is faster than `function`.
    """

    def apply(x: Array, out: Array | None = None) -> Array:
        out = np.empty_like(x, order="C") if out is None else out
        if not is_on_host(x):
            np.copyto(out, function(x.astype(np.float64)), casting="same_kind")
            return out
        flat = x.reshape(-1)
        rule, dtype, few = function, np.dtype(np.float64), _FEW
        if of_single is not None and x.dtype == np.float32:
            rule, dtype, few = of_single, x.dtype, _FEW_SINGLE
        if flat.size < few:
            values = np.fromiter(map(each, flat.tolist()), np.float64, flat.size)
            np.copyto(out, values.reshape(x.shape), casting="same_kind")
            return out
        target = out if out.flags.c_contiguous else np.empty_like(out, order="C")
        results = target.reshape(-1)
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, _BLOCK):
                part = flat[start : start + _BLOCK].astype(dtype, copy=False)
                np.copyto(results[start : start + _BLOCK], rule(part), casting="same_kind")
        if target is not out:
            np.copyto(out, target)
        return out

    return apply
