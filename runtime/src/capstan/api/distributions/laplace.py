"""The Laplace distribution (python/ops/distributions/laplace.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import random_ops
from capstan.api.distributions import location_scale
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Laplace(location_scale.LocationScale):
    """The distribution of numbers with the density exp(-|x - loc| / scale) / (2 scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        """Create distributions from their centre and a positive scale.

        With `validate_args`, steps check that the scale is positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    @property
    def scale(self) -> Any:
        """The mean distance from the centre."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A uniform number of -1 would give infinity.
        kind = self.dtype.as_numpy_dtype
        least = np.nextafter(kind(-1), kind(0))
        drawn = random_ops.random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return self.loc - self.scale * raw.Sign(drawn) * raw.Log1p(-raw.Abs(drawn))

    def _log_prob(self, x: Any) -> Any:
        return -raw.Abs(self._standard(x)) - math.log(2) - raw.Log(self.scale)

    def _log_cdf(self, x: Any) -> Any:
        return _log_cdf(self._standard(x))

    def _log_survival_function(self, x: Any) -> Any:
        return _log_cdf(-self._standard(x))

    def _cdf(self, x: Any) -> Any:
        z = self._standard(x)
        return 0.5 - 0.5 * raw.Sign(z) * raw.Expm1(-raw.Abs(z))

    def _entropy(self) -> Any:
        return math.log(2) + 1.0 + raw.Log(self._spread(self.scale))

    def _mean(self) -> Any:
        return self._spread(self.loc)

    def _mode(self) -> Any:
        return self._mean()

    def _stddev(self) -> Any:
        return math.sqrt(2) * self._spread(self.scale)


def _log_cdf(z: Any) -> Any:
    """Return the logarithm of the distribution function for a centre of 0 and a scale of 1."""
    above = raw.Log1p(-0.5 * raw.Exp(-raw.Abs(z)))
    return raw.SelectV2(raw.Less(z, 0.0), z - math.log(2), above)


class LaplaceWithSoftplusScale(Laplace):
    """A Laplace distribution whose scale is `softplus` of the argument."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (loc, scale)) as scope:
            scale = raw.Softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
