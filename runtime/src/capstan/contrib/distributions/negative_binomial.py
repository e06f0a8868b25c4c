"""The negative binomial distribution (contrib/distributions/python/ops/negative_binomial.py)."""

from typing import Any, ClassVar

from capstan.api import check_ops, random_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, checks, families, sampling
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class NegativeBinomial(families.OfNumbers):
    """The distribution of the number of successes before `total_count` failures."""

    _shaped: ClassVar[tuple[str, ...]] = ("total_count", "probs")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        """Create distributions from positive counts, and the probability of a success or its
        log-odds.

        `total_count` may be a fraction. With `validate_args`, steps check that counts are
        positive, that probabilities are in [0, 1] and that values are whole numbers.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (total_count, logits, probs)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=False, validate_args=validate_args
            )
            count = convert.convert_to_tensor(total_count, self._probs.dtype.base_dtype)
            asserted = [check_ops.assert_positive(count)] if validate_args else []
            [self._total_count] = checks.floats(asserted, total_count=count)
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._probs, self._logits],
            scope,
        )

    @property
    def total_count(self) -> Any:
        """The number of failures that end the trials."""
        return self._total_count

    @property
    def logits(self) -> Any:
        """The log-odds of a success."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._probs

    def _checked(self, x: Any) -> Any:
        return checks.counts(x) if self.validate_args else x

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A number of events whose rate is drawn from a gamma distribution.
        rate = random_ops.random_gamma(
            [n], self.total_count, raw.Exp(-self.logits), self.dtype, seed
        )
        return random_ops.random_poisson(
            rate, [], self.dtype, sampling.salted(seed, "negative_binom")
        )

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        ways = raw.Lgamma(self.total_count + x) - raw.Lgamma(1.0 + x) - raw.Lgamma(self.total_count)
        return ways - self.total_count * raw.Softplus(self.logits) - x * raw.Softplus(-self.logits)

    def _cdf(self, x: Any) -> Any:
        x = self._checked(x)
        failing = raw.Sigmoid(-self.logits)
        # The op does not broadcast.
        zeros = raw.ZerosLike(x + failing + self.total_count)
        return raw.Betainc(self.total_count + zeros, 1.0 + x + zeros, failing + zeros)

    def _mean(self) -> Any:
        return self.total_count * raw.Exp(self.logits)

    def _mode(self) -> Any:
        return raw.Floor(raw.Relu(self.total_count - 1.0) * raw.Exp(self.logits))

    def _variance(self) -> Any:
        return self._mean() / raw.Sigmoid(-self.logits)
