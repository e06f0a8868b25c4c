"""The Cauchy distribution (contrib/distributions/python/ops/cauchy.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import random_ops
from capstan.api.distributions import location_scale
from capstan.framework.raw import raw


class Cauchy(location_scale.LocationScale):
    """The distribution of `loc + scale * tan(pi * (U - 0.5))`, where U is uniform in [0, 1).

    It has no mean: a mean of samples is not nearer to `loc` than one sample.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        """Create distributions from their centres and positive scales.

        With `validate_args`, steps check that the scale is positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    @property
    def scale(self) -> Any:
        """The distance from the centre of the points where the density is half the largest."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_uniform(self._drawn_shape(n), 0.0, 1.0, self.dtype, seed)
        return self._quantile(drawn)

    def _log_prob(self, x: Any) -> Any:
        height = -math.log(math.pi) - raw.Log(self.scale)
        return height - raw.Log1p(raw.Square(self._standard(x)))

    def _cdf(self, x: Any) -> Any:
        return raw.Atan(self._standard(x)) / math.pi + 0.5

    def _log_cdf(self, x: Any) -> Any:
        return raw.Log1p(2.0 / math.pi * raw.Atan(self._standard(x))) - math.log(2.0)

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * raw.Tan(math.pi * (p - 0.5))

    def _entropy(self) -> Any:
        return self._spread(math.log(4.0 * math.pi) + raw.Log(self.scale))

    def _mode(self) -> Any:
        return self._spread(self.loc)

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _stddev(self) -> Any:
        return self._undefined("stddev")

    def _undefined(self, statistic: str) -> Any:
        if not self.allow_nan_stats:
            raise ValueError(f"`{statistic}` is undefined for Cauchy distribution.")
        nan = self.dtype.as_numpy_dtype(np.nan)
        return raw.Fill(self.batch_shape_tensor(), nan)
