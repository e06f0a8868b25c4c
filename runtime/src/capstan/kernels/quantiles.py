"""Kernels of the inverses of the normal distribution and of the error function, in float64."""

import math
from typing import Any

import numpy as np

from capstan.kernels import random_formulas
from capstan.kernels.in_float64 import in_float64
from capstan.kernels.registry import Kernel, register


def ndtri(p: Any) -> Any:
    """Return the number below which a normally distributed number is with probability p.

    It is infinite for 0 and 1, and NaN outside.
    """
    return _quantile(np.abs(p - 0.5), np.minimum(p, 1 - p), p >= 0.5)


def erfinv(x: Any) -> Any:
    """Return the number whose error function is x. It is infinite for -1 and 1."""
    # Numbers near 0 stay exact, because no half is added to them.
    return _quantile(np.abs(x) / 2, (1 - np.abs(x)) / 2, x >= 0) / math.sqrt(2)


def _quantile(from_middle: Any, from_end: Any, is_above: Any) -> Any:
    size = random_formulas.quantile(from_middle, from_end, np.dtype(np.float64))
    size = np.where(from_end == 0, np.inf, np.where(from_end < 0, np.nan, size))
    return np.where(is_above, size, -size)


register(Kernel("Erfinv", in_float64(erfinv)))
register(Kernel("Ndtri", in_float64(ndtri)))
