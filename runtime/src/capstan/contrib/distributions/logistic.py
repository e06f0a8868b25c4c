"""The logistic distribution (contrib/distributions/python/ops/logistic.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import random_ops
from capstan.api.distributions import location_scale
from capstan.framework.raw import raw


class Logistic(location_scale.LocationScale):
    """The distribution whose distribution function is sigmoid((x - loc) / scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        """Create distributions from their centres and positive scales.

        With `validate_args`, steps check that the scale is positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A uniform number of 0 would give infinity.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_ops.random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return (raw.Log(drawn) - raw.Log1p(-drawn)) * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        z = self._standard(x)
        return -z - 2.0 * raw.Softplus(-z) - raw.Log(self.scale)

    def _log_cdf(self, x: Any) -> Any:
        return -raw.Softplus(-self._standard(x))

    def _cdf(self, x: Any) -> Any:
        return raw.Sigmoid(self._standard(x))

    def _log_survival_function(self, x: Any) -> Any:
        return -raw.Softplus(self._standard(x))

    def _survival_function(self, x: Any) -> Any:
        return raw.Sigmoid(-self._standard(x))

    def _entropy(self) -> Any:
        return 2.0 + raw.Log(self._spread(self.scale))

    def _mean(self) -> Any:
        return self._spread(self.loc)

    def _mode(self) -> Any:
        return self._mean()

    def _stddev(self) -> Any:
        return self._spread(self.scale) * (math.pi / math.sqrt(3))
