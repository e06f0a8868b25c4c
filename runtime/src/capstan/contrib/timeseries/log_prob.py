"""Logarithms of probabilities (contrib/timeseries/python/timeseries/math_utils.py)."""

import math
from typing import Any, Final

from capstan.framework.raw import raw

_LEAST_VARIANCE: Final = 1e-5


def deviation(variance: Any) -> Any:
    """Return the standard deviation of a variance, which counts as at least 1e-5."""
    return raw.Sqrt(raw.Maximum(variance, _LEAST_VARIANCE))


def normal(loc: Any, scale: Any, x: Any) -> Any:
    """Return a logarithm for a normal distribution, with half the logarithm of the scale.

    TensorFlow's has half of it too, so losses are the same.
    """
    z = (x - loc) / scale
    return -0.5 * (raw.Square(z) + math.log(2.0 * math.pi) + raw.Log(scale))


def cauchy(loc: Any, scale: Any, x: Any) -> Any:
    """Return the logarithm of the density of a Cauchy distribution."""
    z = (x - loc) / scale
    return -math.log(math.pi) - raw.Log(scale) - raw.Log1p(raw.Square(z))
