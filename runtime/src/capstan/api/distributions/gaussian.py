"""The distribution function of the standard normal distribution, its logarithm and its inverse.

The source is python/ops/distributions/special_math.py. The functions take float32 and float64, and
their gradients are finite where the results are.
"""

import math
from typing import Any, Final

import numpy as np

from capstan.api import math_functions
from capstan.core import dtypes
from capstan.framework.raw import raw

_SEGMENTS: Final = {dtypes.float32: (-10.0, 5.0), dtypes.float64: (-20.0, 8.0)}
"""Where `log_ndtr` changes its formula: below, the series is more precise. Above, log(1 - x) is."""
_CENTRAL: Final = (
    [
        *(-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1),
        *(1.39312609387279679503e1, -1.23916583867381258016),
    ],
    [
        *(1.0, 1.95448858338141759834, 4.67627912898881538453, 8.63602421390890590575e1),
        *(-2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1),
        *(1.59056225126211695515e1, -1.18331621121330003142),
    ],
)
_OUTER: Final = (
    [
        *(4.05544892305962419923, 3.15251094599893866154e1, 5.71628192246421288162e1),
        *(4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539),
        *(-1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4),
    ],
    [
        *(1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1),
        *(1.50425385692907503408e1, 2.50464946208309415979, -1.42182922854787788574e-1),
        *(-3.80806407691578277194e-2, -9.33259480895457427372e-4),
    ],
)
_FAR: Final = (
    [
        *(3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415),
        *(1.33303460815807542389, 2.01485389549179081538e-1, 1.23716634817820021358e-2),
        *(3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9),
    ],
    [
        *(1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271),
        *(2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4),
        *(2.89247864745380683936e-6, 6.79019408009981274425e-9),
    ],
)
"""Coefficients of the rational functions in the Cephes library, the highest power first."""


def _checked(x: Any) -> Any:
    if x.dtype.base_dtype not in _SEGMENTS:
        raise TypeError(f"x.dtype={x.dtype} is not handled: cast it to float32 or float64.")
    return x


def ndtr(x: Any) -> Any:
    """Return P(X <= x) for a number X of the standard normal distribution."""
    scaled = _checked(x) * math.sqrt(0.5)
    size = raw.Abs(scaled)
    tail = raw.Erfc(size)
    outside = raw.SelectV2(raw.Greater(scaled, 0.0), 2.0 - tail, tail)
    is_near = raw.Less(size, math.sqrt(0.5))
    return 0.5 * raw.SelectV2(is_near, 1.0 + raw.Erf(scaled), outside)


def log_ndtr(x: Any) -> Any:
    """Return log P(X <= x) for a number X of the standard normal distribution."""
    lower, upper = _SEGMENTS[_checked(x).dtype.base_dtype]
    # Each formula gets only numbers for which it is finite, or gradients would be NaN.
    middle = raw.Log(ndtr(raw.Maximum(x, lower)))
    below = _log_lower_tail(raw.Minimum(x, lower))
    rest = raw.SelectV2(raw.Greater(x, lower), middle, below)
    return raw.SelectV2(raw.Greater(x, upper), -ndtr(-x), rest)


def _log_lower_tail(x: Any) -> Any:
    """Return `log_ndtr` for large negative numbers, by three terms of an asymptotic series."""
    square = raw.Square(x)
    inverse = 1.0 / square
    series = 1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse))
    return -0.5 * square - raw.Log(-x) - 0.5 * math.log(2 * math.pi) + raw.Log(series)


def ndtri(p: Any) -> Any:
    """Return the x for which `ndtr(x)` is p. It is -inf for p <= 0, and inf for p >= 1."""
    turn = math.exp(-2)
    is_upper = raw.Greater(_checked(p), 1.0 - turn)
    tail = raw.SelectV2(is_upper, 1.0 - p, p)
    tail = raw.SelectV2(raw.LessEqual(tail, 0.0), raw.OnesLike(p) * 0.5, tail)
    centred = tail - 0.5
    square = raw.Square(centred)
    central = -math.sqrt(2 * math.pi) * (centred + centred * square * _ratio(_CENTRAL, square))
    root = raw.Sqrt(-2.0 * raw.Log(tail))
    first = root - raw.Log(root) / root
    inverse = 1.0 / root
    outer = first - _ratio(_OUTER, inverse) * inverse
    far = first - _ratio(_FAR, inverse) * inverse
    outside = raw.SelectV2(raw.GreaterEqual(root, 8.0), far, outer)
    found = raw.SelectV2(raw.Greater(tail, turn), central, outside)
    found = raw.SelectV2(is_upper, found, -found)
    infinity = p.dtype.as_numpy_dtype(np.inf)
    found = raw.SelectV2(raw.GreaterEqual(p, 1.0), infinity, found)
    return raw.SelectV2(raw.LessEqual(p, 0.0), -infinity, found)


def _ratio(coefficients: tuple[list[float], list[float]], x: Any) -> Any:
    kind = x.dtype.as_numpy_dtype
    above, below = ([kind(each) for each in side] for side in coefficients)
    return math_functions.polyval(above, x) / math_functions.polyval(below, x)
