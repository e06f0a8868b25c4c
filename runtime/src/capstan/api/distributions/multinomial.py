"""The distribution of counts of classes (python/ops/distributions/multinomial.py)."""

from typing import Any

from capstan.api import check_ops, control_flow_ops, creation_ops, nn, reduce_ops
from capstan.api.distributions import checks, families, reparameterization, sampling
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class Multinomial(families.OfVectors):
    """The distribution of the counts of classes in `total_count` independent draws."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        """Create distributions from a number of draws, and probabilities or their logarithms.

        `total_count` has the dtype of the probabilities. Their last axis has the classes. With
        `validate_args`, steps check that counts are whole numbers with the sum `total_count`.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (total_count, logits, probs)) as scope:
            self._total_count = convert.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checks.counts(self._total_count)
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=True, validate_args=validate_args
            )
            self._whole = raw.ExpandDims(self._total_count, -1) * self._probs
        super().__init__(
            self._probs.dtype,
            reparameterization.NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._logits, self._probs],
            scope,
        )

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self._whole)], 0)
        rows = raw.Reshape(
            self.logits + creation_ops.zeros(shape, self.dtype),
            raw.Pack([-1, self.event_shape_tensor()[0]]),
        )
        totals = self.total_count + creation_ops.zeros(shape[:-1], self.total_count.dtype)
        totals = raw.Reshape(raw.Cast(totals, DstT=dtypes.int32), [-1])
        return raw.Reshape(sampling.counts(rows, totals, seed), shape)

    def _log_prob(self, counts: Any) -> Any:
        if self.validate_args:
            counts = with_total(counts, self.total_count, "counts must sum to `self.total_count`")
        powers = reduce_ops.reduce_sum(counts * nn.log_softmax(self.logits), -1)
        return powers + log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return raw.Identity(self._whole)

    def _variance(self) -> Any:
        return self._whole * (1.0 - self.probs)

    def _covariance(self) -> Any:
        probs = self.probs * creation_ops.ones_like(self._whole)
        return families.negative_outer_product(self._whole, probs, self._variance())


def log_combinations(total: Any, counts: Any) -> Any:
    """Return the logarithm of the number of orders of draws that give the counts."""
    return raw.Lgamma(total + 1.0) - reduce_ops.reduce_sum(raw.Lgamma(counts + 1.0), -1)


def with_total(counts: Any, total: Any, message: str) -> Any:
    """Return counts with checks that they are whole numbers with the sum `total`."""
    counts = checks.counts(counts)
    found = reduce_ops.reduce_sum(counts, -1)
    check = check_ops.assert_equal(total, found, message=message)
    return control_flow_ops.with_dependencies([check], counts)
