"""Kernels of the inverse and hyperbolic functions, and of the error and gamma functions.

NumPy has no error function and no gamma function. `kernels.error_function` computes the former. The
kernel of `Lgamma` calls Python's function for each element.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import error_function
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, register

_ASYMPTOTIC = 10.0
"""From here on, the series of `digamma` has an error below 1e-15."""
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""The coefficients of the powers of 1 / x**2 in digamma's asymptotic series."""


def _for_each(function: Callable[[float], float]) -> Function:
    def apply(x: Array, out: Array | None = None) -> Array:
        values = np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size)
        out = np.empty_like(x) if out is None else out
        np.copyto(out, values.reshape(x.shape), casting="same_kind")
        return out

    return apply


def _log_gamma(x: float) -> float:
    if math.isnan(x) or x == -math.inf:
        return x if math.isnan(x) else math.inf
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        # x is 0 or a negative integer, or so large that the result overflows.
        return math.inf


def digamma(x: Array, out: Array | None = None) -> Any:
    """Return the derivative of the logarithm of the gamma function, computed in float64."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        # For x below 0, psi(x) = psi(1 - x) - pi / tan(pi * x).
        at = np.where(wide < 0, 1 - wide, wide)
        total = np.where(wide < 0, -np.pi / np.tan(np.pi * wide), 0.0)
        for _ in range(int(_ASYMPTOTIC)):
            is_small = at < _ASYMPTOTIC
            total = total - np.where(is_small, 1 / at, 0)
            at = np.where(is_small, at + 1, at)
        square = 1 / (at * at)
        series = np.zeros_like(at)
        for coefficient in reversed(_SERIES):
            series = (series + coefficient) * square
        total = total + np.log(at) - 0.5 / at - series
    is_pole = (wide <= 0) & (wide == np.floor(wide))
    total = np.where(is_pole, np.where(wide == 0, -np.inf, np.nan), total)
    if out is None:
        return total.astype(x.dtype)
    np.copyto(out, total, casting="same_kind")
    return out


for _op, _function in (
    ("Acos", np.arccos),
    ("Acosh", np.arccosh),
    ("Asin", np.arcsin),
    ("Asinh", np.arcsinh),
    ("Atan", np.arctan),
    ("Atanh", np.arctanh),
    ("Atan2", np.arctan2),
    ("Cosh", np.cosh),
    ("Digamma", digamma),
    ("Erf", error_function.in_blocks(error_function.erf, math.erf)),
    ("Erfc", error_function.in_blocks(error_function.erfc, math.erfc)),
    ("Expm1", np.expm1),
    ("Lgamma", _for_each(_log_gamma)),
    ("Rint", np.rint),
    ("Sinh", np.sinh),
    ("Tan", np.tan),
):
    register(Kernel(_op, constantly(_function), out=True))
