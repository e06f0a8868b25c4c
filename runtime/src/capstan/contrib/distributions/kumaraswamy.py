"""Distributions of numbers from 0 to 1 (contrib/distributions/python/ops/kumaraswamy.py)."""

from typing import Any

from capstan.api import math_functions
from capstan.api.distributions import FULLY_REPARAMETERIZED, Uniform, checks
from capstan.api.scoped import scoped
from capstan.contrib.distributions import bijectors
from capstan.contrib.distributions.transformed_distribution import TransformedDistribution
from capstan.framework import convert
from capstan.framework.raw import raw


class Kumaraswamy(TransformedDistribution):
    """The distribution with the CDF 1 - (1 - x^concentration1)^concentration0 from 0 to 1."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        """Create distributions. With `validate_args`, steps check that both are positive."""
        with scoped(None, name, (concentration1, concentration0)) as scope:
            first = convert.convert_to_tensor(concentration1, name="concentration1")
            second = convert.convert_to_tensor(concentration0, name="concentration0")
            zero = convert.constant(0.0, first.dtype)
            super().__init__(
                Uniform(zero, zero + 1, allow_nan_stats=allow_nan_stats),
                bijectors.Kumaraswamy(first, second, validate_args),
                batch_shape=(first + second).shape,
                name=scope,
            )
        self._reparameterization_type = FULLY_REPARAMETERIZED

    @property
    def concentration1(self) -> Any:
        """The exponent of a value."""
        return self._parameter("concentration1")

    @property
    def concentration0(self) -> Any:
        """The exponent of the rest."""
        return self._parameter("concentration0")

    def _parameter(self, name: str) -> Any:
        return getattr(self.bijector, name)

    def _entropy(self) -> Any:
        # TensorFlow's formula. The entropy itself is (1 - 1/b) + (1 - 1/a) harmonic - log(a b).
        a, b = self.concentration1, self.concentration0
        harmonic = raw.Digamma(b + 1) - raw.Digamma(raw.OnesLike(b))
        return (1 - 1 / a) + (1 - 1 / b) * harmonic + raw.Log(a) + raw.Log(b)

    def _moment(self, n: int) -> Any:
        ones = raw.OnesLike(self.concentration1 + self.concentration0)
        a, b = ones * self.concentration1, ones * self.concentration0
        return raw.Exp(raw.Log(b) + math_functions.lbeta(raw.Pack([1 + n / a, b], axis=-1)))

    def _mean(self) -> Any:
        return self._moment(1)

    def _variance(self) -> Any:
        return self._moment(2) - raw.Square(self._moment(1))

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        limits = [
            (a, "Mode undefined for concentration1 <= 1."),
            (b, "Mode undefined for concentration0 <= 1."),
        ]
        mode = raw.Pow((a - 1) / (a * b - 1), 1 / a)
        return checks.above_one(mode, limits, allow_nan_stats=self.allow_nan_stats)
