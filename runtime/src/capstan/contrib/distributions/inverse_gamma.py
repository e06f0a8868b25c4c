"""The inverse gamma distribution (contrib/distributions/python/ops/inverse_gamma.py)."""

from typing import Any

from capstan.api import random_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, checks, concentration_rate
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class InverseGamma(concentration_rate.ConcentrationRate):
    """The distribution of 1 / X, where X has a gamma distribution."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        """Create distributions from the concentration and the rate of X.

        With `validate_args`, steps check that parameters and values are positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(
            concentration,
            rate,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            name,
            dict(locals()),
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_gamma([n], self.concentration, self.rate, self.dtype, seed)
        return 1.0 / drawn

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        normalization = raw.Lgamma(self.concentration) - self.concentration * raw.Log(self.rate)
        return -(1.0 + self.concentration) * raw.Log(x) - self.rate / x - normalization

    def _cdf(self, x: Any) -> Any:
        return raw.Igammac(self.concentration, self.rate / self._checked(x))

    def _entropy(self) -> Any:
        return (
            self.concentration
            + raw.Log(self.rate)
            + raw.Lgamma(self.concentration)
            - (1.0 + self.concentration) * raw.Digamma(self.concentration)
        )

    def _mean(self) -> Any:
        return self._above(1.0, "mean", self.rate / (self.concentration - 1.0))

    def _variance(self) -> Any:
        mean = self.rate / (self.concentration - 1.0)
        return self._above(2.0, "variance", raw.Square(mean) / (self.concentration - 2.0))

    def _above(self, limit: float, name: str, statistic: Any) -> Any:
        """Return a statistic that is defined where the concentration is above a limit."""
        message = f"{name} undefined when any concentration <= {limit:.0f}"
        shifted = self.concentration - (limit - 1.0)
        return checks.above_one(
            statistic, [(shifted, message)], allow_nan_stats=self.allow_nan_stats
        )

    def _mode(self) -> Any:
        return self.rate / (1.0 + self.concentration)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """An inverse gamma distribution whose parameters are `softplus` of the arguments."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (concentration, rate)) as scope:
            super().__init__(
                raw.Softplus(concentration, name="softplus_concentration"),
                raw.Softplus(rate, name="softplus_rate"),
                validate_args,
                allow_nan_stats,
                scope,
            )
        self._parameters = parameters
