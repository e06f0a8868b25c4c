"""The distribution of an event that happens or not (python/ops/distributions/bernoulli.py)."""

from typing import Any

from capstan.api import creation_ops, nn, random_ops
from capstan.api.distributions import checks, families, reparameterization
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework.raw import raw


class Bernoulli(families.OfNumbers):
    """The distribution of 1 with the probability `probs`, and of 0."""

    _shaped = ("logits",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        """Create distributions from probabilities, or from `logits`: log(probs / (1 - probs)).

        With `validate_args`, probabilities must be in [0, 1], and values 0 or 1.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=False, validate_args=validate_args
            )
        super().__init__(
            dtype,
            reparameterization.NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._logits, self._probs],
            scope,
        )

    @property
    def logits(self) -> Any:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of 1."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_uniform(
            self._drawn_shape(n), dtype=self.probs.dtype.base_dtype, seed=seed
        )
        return raw.Cast(raw.Less(drawn, self.probs), DstT=self.dtype)

    def _log_prob(self, event: Any) -> Any:
        if self.validate_args:
            event = checks.whole(event, dtypes.bool_)
        event = raw.Cast(event, DstT=self.logits.dtype.base_dtype)
        # The loss does not broadcast.
        logits = self.logits * creation_ops.ones_like(event)
        event = event * creation_ops.ones_like(self.logits)
        return -nn.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Any:
        return self.logits * raw.Sigmoid(-self.logits) + raw.Softplus(-self.logits)

    def _mean(self) -> Any:
        return raw.Identity(self.probs)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Any:
        return raw.Cast(raw.Greater(self.probs, 0.5), DstT=self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _divergence(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Any:
    with scoped(name, "kl_bernoulli_bernoulli", (a.logits, b.logits)):
        of_zero = raw.Softplus(b.logits) - raw.Softplus(a.logits)
        of_one = raw.Softplus(-b.logits) - raw.Softplus(-a.logits)
        return raw.Sigmoid(a.logits) * of_one + raw.Sigmoid(-a.logits) * of_zero
