"""The distribution of the time until a random event (python/ops/distributions/exponential.py)."""

from typing import Any

import numpy as np

from capstan.api import creation_ops, random_ops
from capstan.api.distributions.gamma import Gamma
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Exponential(Gamma):
    """The distribution of positive numbers with the density rate exp(-rate x)."""

    _shaped = ("rate",)

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        """Create distributions from a rate, the inverse of the mean.

        With `validate_args`, steps check that the rate and values are positive.

        Raises:
            ValueError: the rate is not floating-point.
        """
        parameters = dict(locals())
        with scoped(None, name, (rate,)) as scope:
            rate = convert.convert_to_tensor(rate, name="rate")
            one = creation_ops.ones([], rate.dtype)
        super().__init__(one, rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    def _log_survival_function(self, value: Any) -> Any:
        return self._log_prob(value) - raw.Log(self.rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A uniform number of 0 would give infinity.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_ops.random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return -raw.Log(drawn) / self.rate


class ExponentialWithSoftplusRate(Exponential):
    """An exponential distribution whose rate is `softplus` of the argument."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (rate,)) as scope:
            rate = raw.Softplus(rate, name="softplus_rate")
            super().__init__(rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
