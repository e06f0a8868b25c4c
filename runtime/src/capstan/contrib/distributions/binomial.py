"""The binomial distribution (contrib/distributions/python/ops/binomial.py)."""

from typing import Any, ClassVar

from capstan.api import check_ops, control_flow_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, checks, families
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Binomial(families.OfNumbers):
    """The distribution of the number of successes in `total_count` trials.

    As in TensorFlow, it has no samples: `Multinomial` has.
    """

    _shaped: ClassVar[tuple[str, ...]] = ("total_count", "probs")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        """Create distributions from counts, and the probability of a success or its log-odds.

        With `validate_args`, steps check that counts and values are whole numbers, that values do
        not exceed counts, and that probabilities are in [0, 1].

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (total_count, logits, probs)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=False, validate_args=validate_args
            )
            count = convert.convert_to_tensor(
                total_count, self._probs.dtype.base_dtype, "total_count"
            )
            self._total_count = checks.counts(count) if validate_args else count
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._logits, self._probs],
            scope,
        )

    @property
    def total_count(self) -> Any:
        """The number of trials."""
        return self._total_count

    @property
    def logits(self) -> Any:
        """The log-odds of a success."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._probs

    def _checked(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        counts = checks.counts(counts)
        message = "counts are not less than or equal to n."
        check = check_ops.assert_less_equal(counts, self.total_count, message=message)
        return control_flow_ops.with_dependencies([check], counts)

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked(counts)
        failures = self.total_count - counts
        ways = (
            raw.Lgamma(1.0 + self.total_count)
            - raw.Lgamma(1.0 + counts)
            - raw.Lgamma(1.0 + failures)
        )
        return ways + counts * raw.Log(self.probs) + failures * raw.Log1p(-self.probs)

    def _cdf(self, counts: Any) -> Any:
        counts = self._checked(counts)
        # The op does not broadcast, and it has no value where there are no failures.
        zeros = raw.ZerosLike(counts + self.total_count + self.probs)
        failures = self.total_count - counts + zeros
        is_all = raw.Equal(failures, 0.0)
        ones = raw.OnesLike(zeros)
        below = raw.Betainc(
            raw.SelectV2(is_all, ones, failures), 1.0 + counts + zeros, 1.0 - self.probs + zeros
        )
        return raw.SelectV2(is_all, ones, below)

    def _mean(self) -> Any:
        return self.total_count * self.probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Any:
        return raw.Floor((1.0 + self.total_count) * self.probs)
