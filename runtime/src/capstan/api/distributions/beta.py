"""The distribution of a share between two sides (python/ops/distributions/beta.py)."""

from typing import Any

from capstan.api import check_ops, check_types, control_flow_ops, creation_ops, random_ops
from capstan.api.distributions import checks, families, reparameterization, sampling
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Beta(families.OfNumbers):
    """The distribution on (0, 1) whose density is x^(c1 - 1) (1 - x)^(c0 - 1) / B(c1, c0)."""

    _shaped = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        """Create distributions from two positive concentrations, of one floating-point dtype.

        With `validate_args`, steps check that concentrations are positive and that values are
        between 0 and 1.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        parameters = dict(locals())
        message = "Concentration parameter must be positive."
        with scoped(None, name, (concentration1, concentration0)) as scope:
            self._concentration1 = checks.positive(
                concentration1, "concentration1", message, validate_args=validate_args
            )
            self._concentration0 = checks.positive(
                concentration0, "concentration0", message, validate_args=validate_args
            )
            check_types.assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            self._total_concentration.dtype,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._concentration1, self._concentration0, self._total_concentration],
            scope,
        )

    @property
    def concentration1(self) -> Any:
        """The concentration at 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        """The concentration at 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Any:
        """The sum of both concentrations."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        first = random_ops.random_gamma(
            [n], self._spread(self.concentration1), dtype=self.dtype, seed=seed
        )
        second = random_ops.random_gamma(
            [n],
            self._spread(self.concentration0),
            dtype=self.dtype,
            seed=sampling.salted(seed, "beta"),
        )
        return first / (first + second)

    def _log_prob(self, x: Any) -> Any:
        if self.validate_args:
            inside = [
                check_ops.assert_positive(x, message="sample must be positive"),
                check_ops.assert_less(x, 1.0, message="sample must be less than `1`."),
            ]
            x = control_flow_ops.with_dependencies(inside, x)
        powers = raw.Xlogy(self.concentration1 - 1.0, x)
        return powers + (self.concentration0 - 1.0) * raw.Log1p(-x) - self._log_normalization()

    def _log_normalization(self) -> Any:
        """Return log B(c1, c0)."""
        sides = raw.Lgamma(self.concentration1) + raw.Lgamma(self.concentration0)
        return sides - raw.Lgamma(self.total_concentration)

    def _cdf(self, x: Any) -> Any:
        one = creation_ops.ones_like(x + self.total_concentration)
        return raw.Betainc(self.concentration1 * one, self.concentration0 * one, x * one)

    def _entropy(self) -> Any:
        return (
            self._log_normalization()
            - (self.concentration1 - 1.0) * raw.Digamma(self.concentration1)
            - (self.concentration0 - 1.0) * raw.Digamma(self.concentration0)
            + (self.total_concentration - 2.0) * raw.Digamma(self.total_concentration)
        )

    def _mean(self) -> Any:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Any:
        limits = [
            (self.concentration1, "Mode undefined for concentration1 <= 1."),
            (self.concentration0, "Mode undefined for concentration0 <= 1."),
        ]
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        return checks.above_one(mode, limits, allow_nan_stats=self.allow_nan_stats)


class BetaWithSoftplusConcentration(Beta):
    """A Beta distribution whose concentrations are `softplus` of the arguments."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (concentration1, concentration0)) as scope:
            super().__init__(
                raw.Softplus(concentration1, name="softplus_concentration1"),
                raw.Softplus(concentration0, name="softplus_concentration0"),
                validate_args,
                allow_nan_stats,
                scope,
            )
        self._parameters = parameters


@RegisterKL(Beta, Beta)
def _divergence(a: Beta, b: Beta, name: str | None = None) -> Any:
    with scoped(name, "kl_beta_beta", (a.concentration1, b.concentration1)):
        return (
            b._log_normalization()
            - a._log_normalization()
            - raw.Digamma(a.concentration1) * (b.concentration1 - a.concentration1)
            - raw.Digamma(a.concentration0) * (b.concentration0 - a.concentration0)
            + raw.Digamma(a.total_concentration) * (b.total_concentration - a.total_concentration)
        )
