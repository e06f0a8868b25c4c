"""The gamma distribution (python/ops/distributions/gamma.py)."""

from typing import Any

from capstan.api import random_ops
from capstan.api.distributions import checks, concentration_rate, reparameterization
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Gamma(concentration_rate.ConcentrationRate):
    """The distribution of positive numbers whose density is x^(c - 1) exp(-rate x), normalized."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        """Create distributions from a concentration and a rate, the inverse of the scale.

        With `validate_args`, steps check that parameters and values are positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        super().__init__(
            concentration,
            rate,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            name,
            dict(locals()),
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return random_ops.random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        normalization = raw.Lgamma(self.concentration) - self.concentration * raw.Log(self.rate)
        return raw.Xlogy(self.concentration - 1.0, x) - self.rate * x - normalization

    def _cdf(self, x: Any) -> Any:
        return raw.Igamma(self.concentration, self.rate * self._checked(x))

    def _entropy(self) -> Any:
        return (
            self.concentration
            - raw.Log(self.rate)
            + raw.Lgamma(self.concentration)
            + (1.0 - self.concentration) * raw.Digamma(self.concentration)
        )

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _variance(self) -> Any:
        return self.concentration / raw.Square(self.rate)

    def _stddev(self) -> Any:
        return raw.Sqrt(self.concentration) / self.rate

    def _mode(self) -> Any:
        mode = (self.concentration - 1.0) / self.rate
        limits = [(self.concentration, "mode not defined when any concentration <= 1")]
        return checks.above_one(mode, limits, allow_nan_stats=self.allow_nan_stats)


class GammaWithSoftplusConcentrationRate(Gamma):
    """A gamma distribution whose concentration and rate are `softplus` of the arguments."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
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


@RegisterKL(Gamma, Gamma)
def _divergence(a: Gamma, b: Gamma, name: str | None = None) -> Any:
    with scoped(name, "kl_gamma_gamma", (a.concentration, b.concentration)):
        return (
            (a.concentration - b.concentration) * raw.Digamma(a.concentration)
            + raw.Lgamma(b.concentration)
            - raw.Lgamma(a.concentration)
            + b.concentration * (raw.Log(a.rate) - raw.Log(b.rate))
            + a.concentration * (b.rate / a.rate - 1.0)
        )
