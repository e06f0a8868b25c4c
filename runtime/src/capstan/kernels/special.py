"""Kernels of the inverse and hyperbolic functions, and of the error and gamma functions.

NumPy has no error function and no gamma function. `kernels.error_function` computes the former. The
kernel of `Lgamma` calls Python's function for each element of host memory.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import error_function
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import is_on_host
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


_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip
"""Lanczos' coefficients for g = 7 and nine terms (Press et al., Numerical Recipes, 6.1)."""
_log_gamma_of_each = _for_each(_log_gamma)


def log_gamma(x: Array, out: Array | None = None) -> Any:
    """Return the logarithm of the absolute value of the gamma function, computed in float64."""
    if is_on_host(x):
        return _log_gamma_of_each(x, out)
    wide = x.astype(np.float64)
    # For x below 1/2, gamma(x) * gamma(1 - x) = pi / sin(pi * x).
    is_small = wide < 0.5
    at = np.where(is_small, -wide, wide - 1)
    series = np.zeros_like(at) + _LANCZOS[0]
    for index, coefficient in enumerate(_LANCZOS[1:], 1):
        series = series + coefficient / (at + index)
    start = at + 7.5
    found = (at + 0.5) * np.log(start) - start + np.log(series) + 0.5 * math.log(2 * math.pi)
    sine = np.abs(np.sin(math.pi * (wide - np.floor(wide))))
    found = np.where(is_small, math.log(math.pi) - np.log(sine) - found, found)
    is_infinite = ((wide <= 0) & (wide == np.floor(wide))) | np.isinf(wide)
    found = np.where(is_infinite, np.inf, found)
    if out is None:
        return found.astype(x.dtype)
    np.copyto(out, found, casting="same_kind")
    return out


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
    ("Erf", error_function.in_blocks(error_function.erf, math.erf, error_function.erf_of_single)),
    ("Erfc", error_function.in_blocks(error_function.erfc, math.erfc)),
    ("Expm1", np.expm1),
    ("Lgamma", log_gamma),
    ("Rint", np.rint),
    ("Sinh", np.sinh),
    ("Tan", np.tan),
):
    register(Kernel(_op, constantly(_function), out=True))
