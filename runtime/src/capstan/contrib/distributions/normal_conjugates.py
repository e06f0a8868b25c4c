"""What observations tell about the mean of normal numbers (ops/normal_conjugate_posteriors.py).

`prior` is the Normal of the unknown mean, and `scale` the known standard deviation of a number. `s`
is the sum of the observations, and `n` their number.
"""

from typing import Any

from capstan.api import math_ops
from capstan.api.distributions import Normal
from capstan.framework.raw import raw


def normal_conjugates_known_scale_posterior(prior: Normal, scale: Any, s: Any, n: Any) -> Normal:
    """Return the Normal of the mean after the observations.

    Raises:
        TypeError: the prior is no Normal, or `s` has another type.
    """
    mean, variance = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=raw.Sqrt(variance))


def normal_conjugates_known_scale_predictive(prior: Normal, scale: Any, s: Any, n: Any) -> Normal:
    """Return the Normal of a new number after the observations.

    Raises:
        TypeError: as `normal_conjugates_known_scale_posterior`.
    """
    mean, variance = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=raw.Sqrt(variance + math_ops.square(scale)))


def _posterior(prior: Any, scale: Any, s: Any, n: Any) -> tuple[Any, Any]:
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}"
        )
    known, first = math_ops.square(scale), math_ops.square(prior.scale)
    variance = 1.0 / (1.0 / first + math_ops.cast(n, prior.dtype) / known)
    return (prior.loc / first + s / known) * variance, variance
