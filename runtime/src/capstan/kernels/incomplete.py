"""Kernels of the incomplete gamma and beta functions.

They compute in float64, with the series and the continued fractions of Press et al., Numerical
Recipes, 6.2 and 6.4. Each loop ends when no element changes any more. Near a large mean, these
loops would be long, and the gamma functions have Temme's uniform expansion (DLMF 8.12).
"""

import math
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import error_function, special
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, register
from capstan.kernels.rejection import invalid

_EPSILON = 2.0**-53
_TINY = 1e-300
_MOST = 10_000
"""The number of terms at which a sum ends."""
_LARGE: Final = 1e5
_NEAR: Final = 0.05
"""The expansion is for parameters from `_LARGE` on, and this distance of x from `a`, over `a`."""
_ROOT: Final = tuple(2 * (-1) ** k / (k + 2) for k in range(13))
_FIRST: Final = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_SECOND: Final = (-1 / 540, -1 / 288, 1 / 378)
"""The coefficients of the expansion: of (eta / mu)**2 in mu, and of c0 and c1 in eta."""
_Parts = tuple[Array, Array, Array]
"""A function of a and x, its derivative by a, and this derivative over the gamma density at x."""


def _lower(a: Array, x: Array) -> _Parts:
    """Return the parts of the lower function by its series, which suits x < a + 1."""
    term, slope = np.ones_like(a), np.zeros_like(a)
    total, total_slope = term, slope
    for k in range(1, _MOST):
        slope = (slope - term / (a + k)) * x / (a + k)
        term = term * x / (a + k)
        total, total_slope = total + term, total_slope + slope
        if not ((term > total * _EPSILON) | (np.abs(slope) > np.abs(total_slope) * _EPSILON)).any():
            break
    factor = np.exp(a * np.log(x) - x - special.log_gamma(a + 1))
    by_order = total * (np.log(x) - special.digamma(a + 1)) + total_slope
    # The factor is x / a times the density. Both underflow far from the mean.
    return factor * total, factor * by_order, x / a * by_order


def _upper(a: Array, x: Array) -> _Parts:
    """Return the parts of the upper function by Lentz's fraction, for x >= a + 1."""
    b = x + 1 - a
    c, c_slope = np.full_like(a, 1 / _TINY), np.zeros_like(a)
    d = 1 / b
    d_slope, fraction, log_slope = d * d, d, d
    for k in range(1, _MOST):
        an, b = k * (a - k), b + 2
        t, t_slope = an * d + b, k * d + an * d_slope - 1
        c_slope = k / c - an * c_slope / (c * c) - 1
        c = b + an / c
        d, d_slope = 1 / t, -t_slope / (t * t)
        step = c_slope / c - t_slope / t
        fraction, log_slope = fraction * c * d, log_slope + step
        if not ((np.abs(c * d - 1) > _EPSILON * 4) | (np.abs(step) > _EPSILON * 4)).any():
            break
    value = np.exp(a * np.log(x) - x - special.log_gamma(a)) * fraction
    by_order = np.log(x) - special.digamma(a) + log_slope
    return value, value * by_order, x * fraction * by_order


def _near(a: Array, x: Array, sign: int) -> _Parts:
    """Return the parts of the lower (sign -1) or upper (1) function for x near a large `a`."""
    mu = (x - a) / a
    ratio = np.sqrt(_polynomial(_ROOT, mu))
    eta = mu * ratio
    rest = _polynomial(_FIRST, eta) + _polynomial(_SECOND, eta) / a
    half_square = eta * eta / 2
    scale = np.exp(-a * half_square) / np.sqrt(2 * math.pi * a)
    value = error_function.erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * scale * rest
    steps = tuple(k * _FIRST[k] for k in range(1, len(_FIRST)))
    by_order = (
        (eta / 2 - 1 / ratio)
        - (mu - half_square - 0.5 / a) * rest
        + (_polynomial(steps, eta) / ratio + _SECOND[0] / a) / a
    )
    by_density = x / a * (1 + (1 / 12 + 1 / (288 * a)) / a) * by_order
    return value, -sign * scale * by_order, -sign * by_density


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Return the sum of coefficients[n] * x**n."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _near_lower(a: Array, x: Array) -> _Parts:
    return _near(a, x, -1)


def _near_upper(a: Array, x: Array) -> _Parts:
    return _near(a, x, 1)


def _of_gamma(part: int, *, is_lower: bool) -> Function:
    """Return the function that computes a part (`_Parts`) by its place."""

    def compute(a: Array, x: Array) -> Any:
        wide = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
        order, at = wide[0].reshape(-1), wide[1].reshape(-1)
        at_zero = 0.0 if is_lower or part else 1.0
        found = np.where((at < 0) | (order <= 0) | np.isnan(order + at), np.nan, at_zero)
        found = np.where((at == np.inf) & (order > 0), 0.0 if part else 1 - at_zero, found)
        if is_lower:  # As in TensorFlow, x is looked at before `a`.
            found = np.where(at == 0, 0.0, found)
        is_inside = (at > 0) & (order > 0) & np.isfinite(order + at)
        with np.errstate(all="ignore"):
            is_near = (order >= _LARGE) & (np.abs(at - order) < _NEAR * order)
            is_below = at < order + 1
            for rule, is_here, is_rule_lower in (
                (_lower, is_inside & is_below & ~is_near, True),
                (_upper, is_inside & ~is_below & ~is_near, False),
                (_near_lower, is_inside & is_below & is_near, True),
                (_near_upper, is_inside & ~is_below & is_near, False),
            ):
                value = rule(order[is_here], at[is_here])[part]
                other = -value if part else 1 - value
                found[is_here] = value if is_rule_lower is is_lower else other
        return found.reshape(wide[0].shape).astype(x.dtype)

    return compute


_slope_by_density = _of_gamma(2, is_lower=True)


def _of_sample(alpha: Array, sample: Array) -> Any:
    """Return the derivative of a sample of a gamma distribution by alpha.

    It keeps the share of the distribution that is below the sample.
    """
    return np.negative(_slope_by_density(alpha, sample))


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c = np.ones_like(x)
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    total = d
    for k in range(1, _MOST):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        change = np.ones_like(x)
        for coefficient in (even, odd):
            d = 1 / _away_from_zero(1 + coefficient * d)
            c = _away_from_zero(1 + coefficient / c)
            change = c * d
            total = total * change
        if not (np.abs(change - 1) > 4 * _EPSILON).any():
            break
    return total


def _away_from_zero(values: Array) -> Array:
    return np.where(np.abs(values) < _TINY, _TINY, values)


def _betainc(a: Array, b: Array, x: Array) -> Any:
    forms = {each.shape for each in (a, b, x) if each.ndim}
    if len(forms) > 1:
        raise invalid(
            "Shapes of a, b and x are inconsistent, all that are no scalars must be equal: "
            f"{show(a.shape)}, {show(b.shape)} and {show(x.shape)}"
        )
    wide = np.broadcast_arrays(*(each.astype(np.float64) for each in (a, b, x)))
    p, q, at = (each.reshape(-1) for each in wide)
    # As in TensorFlow, a parameter that is NaN does not matter at the ends.
    is_end = ((at == 0) | (at == 1)) & ~((p <= 0) | (q <= 0))
    found = np.where(is_end, at, np.nan)
    is_inside = (p > 0) & (q > 0) & (at > 0) & (at < 1) & np.isfinite(p + q)
    p, q, at = p[is_inside], q[is_inside], at[is_inside]
    with np.errstate(all="ignore"):
        # The fraction converges fast below the mean. I(x; a, b) = 1 - I(1 - x; b, a).
        is_turned = at > (p + 1) / (p + q + 2)
        first, second = np.where(is_turned, q, p), np.where(is_turned, p, q)
        here = np.where(is_turned, 1 - at, at)
        log_beta = special.log_gamma(p) + special.log_gamma(q) - special.log_gamma(p + q)
        logs = p * np.log(at) + q * np.log1p(-at) - log_beta
        value = np.exp(logs) * _beta_fraction(first, second, here) / first
    found[is_inside] = np.where(is_turned, 1 - value, value)
    return found.reshape(wide[0].shape).astype(x.dtype)


register(Kernel("Igamma", constantly(_of_gamma(0, is_lower=True))))
register(Kernel("Igammac", constantly(_of_gamma(0, is_lower=False))))
register(Kernel("IgammaGradA", constantly(_of_gamma(1, is_lower=True))))
register(Kernel("RandomGammaGrad", constantly(_of_sample)))
register(Kernel("Betainc", constantly(_betainc)))
