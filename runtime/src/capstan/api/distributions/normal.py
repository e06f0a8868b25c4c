"""The normal distribution (python/ops/distributions/normal.py)."""

import math
from typing import Any

from capstan.api import random_ops
from capstan.api.distributions import gaussian, location_scale
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Normal(location_scale.LocationScale):
    """The distribution of numbers with the mean `loc` and the standard deviation `scale`."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        """Create distributions from means and positive standard deviations.

        With `validate_args`, steps check that the scale is positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    @property
    def loc(self) -> Any:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The standard deviation."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        normalization = 0.5 * math.log(2 * math.pi) + raw.Log(self.scale)
        return -0.5 * raw.Square(self._standard(x)) - normalization

    def _log_cdf(self, x: Any) -> Any:
        return gaussian.log_ndtr(self._standard(x))

    def _cdf(self, x: Any) -> Any:
        return gaussian.ndtr(self._standard(x))

    def _log_survival_function(self, x: Any) -> Any:
        return gaussian.log_ndtr(-self._standard(x))

    def _survival_function(self, x: Any) -> Any:
        return gaussian.ndtr(-self._standard(x))

    def _quantile(self, p: Any) -> Any:
        return gaussian.ndtri(p) * self.scale + self.loc

    def _standard(self, x: Any) -> Any:
        with scoped(None, "standardize", (x,)):
            return (x - self.loc) / self.scale

    def _entropy(self) -> Any:
        return 0.5 * math.log(2 * math.pi * math.e) + raw.Log(self._spread(self.scale))

    def _mean(self) -> Any:
        return self._spread(self.loc)

    def _mode(self) -> Any:
        return self._mean()

    def _stddev(self) -> Any:
        return self._spread(self.scale)


class NormalWithSoftplusScale(Normal):
    """A normal distribution whose scale is `softplus` of the argument."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (loc, scale)) as scope:
            scale = raw.Softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


@RegisterKL(Normal, Normal)
def _divergence(a: Normal, b: Normal, name: str | None = None) -> Any:
    with scoped(name, "kl_normal_normal", (a.loc, b.loc)):
        variance = raw.Square(b.scale)
        ratio = raw.Square(a.scale) / variance
        distance = raw.SquaredDifference(a.loc, b.loc) / (2.0 * variance)
        return distance + 0.5 * (ratio - 1.0 - raw.Log(ratio))
