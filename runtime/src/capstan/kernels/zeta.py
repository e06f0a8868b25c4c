"""Kernels of Hurwitz' zeta function and of the derivatives of digamma.

They compute in float64. zeta(s, q) is the sum of 1 / (q + k)**s over k = 0, 1, 2, ... The first
terms are added, and the Euler-Maclaurin formula gives the rest (DLMF 25.11.28).
"""

import math
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import special
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Kernel, register

_TERMS = 10
"""The number of terms that are added one by one."""
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
"""The Bernoulli numbers B2, B4, ..., B24."""


def _hurwitz(s: Any, q: Any) -> Any:
    """Return zeta(s, q) as TensorFlow defines it, also where the sum does not exist.

    It is infinite for s = 1, and nan for s below 1. A pole, at q = 0, -1, -2, ..., is infinite for
    even s, and nan for other s. For other negative q, s must be an integer.
    """
    with np.errstate(all="ignore"):
        is_negative = q <= 0
        found = _for_positive(s, np.where(is_negative, 1.0, q))
        if not is_on_host(q) or is_negative.any():  # A device would have to wait for the answer.
            found = np.where(is_negative, _for_negative(s, q), found)
        at_infinity = np.where(q < 1, np.inf, np.where(q == 1, 1.0, 0.0))
        found = np.where(s == np.inf, at_infinity, found)
        found = np.where((s < 1) | np.isnan(s + q), np.nan, found)
        return np.where(s == 1, np.inf, found)


def _for_positive(s: Any, q: Any) -> Any:
    total = 0.0
    for k in range(_TERMS):
        total = total + (q + k) ** -s
    start = q + _TERMS
    power = start**-s
    total = total + power * (start / (s - 1) + 0.5)
    factor = s / start
    for index, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + power * factor * (bernoulli / math.factorial(2 * index))
        factor = factor * ((s + 2 * index - 1) / start) * ((s + 2 * index) / start)
    return np.where(q == np.inf, 0.0, total)


def _for_negative(s: Any, q: Any) -> Any:
    """Add the terms with negative bases, and the sum of the others.

    The negative bases are -f, -f - 1, ..., q, where f is the fractional part of -q. The sum of
    their terms is a difference of two zeta functions, however many terms there are.
    """
    f = -q - np.floor(-q)
    is_even = s % 2 == 0
    mirrored = _for_positive(s, f) - _for_positive(s, 1 - q)
    found = _for_positive(s, 1 - f) + np.where(is_even, mirrored, -mirrored)
    found = np.where(s == np.floor(s), found, np.nan)
    is_pole = q == np.floor(q)
    return np.where(is_pole, np.where(is_even, np.inf, np.nan), found)


def _zeta(x: Array, q: Array) -> Any:
    return _hurwitz(x.astype(np.float64), q.astype(np.float64)).astype(x.dtype)


def _polygamma(a: Array, x: Array) -> Any:
    """Return derivative number `a` of digamma. It is nan unless `a` is 0, 1, 2, ..."""
    order, at = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    is_order = (order >= 0) & (order == np.floor(order))
    order = np.where(is_order, order, 1.0)
    with np.errstate(all="ignore"):
        # (-1)**(n + 1) * n! * zeta(n + 1, x)
        found = _factorial(order) * _hurwitz(order + 1, at)
        found = np.where(order % 2 == 0, -found, found)
    found = np.where(order == 0, special.digamma(at), found)
    return np.where(is_order, found, np.nan).astype(x.dtype)


def _factorial(order: Any) -> Any:
    if not is_on_host(order):
        return np.exp(special.log_gamma(order + 1))
    orders, places = np.unique(order, return_inverse=True)
    values = [math.gamma(n + 1) if n < 170.5 else math.inf for n in orders.tolist()]
    return np.array(values, np.float64)[places].reshape(order.shape)


register(Kernel("Zeta", constantly(_zeta)))
register(Kernel("Polygamma", constantly(_polygamma)))
