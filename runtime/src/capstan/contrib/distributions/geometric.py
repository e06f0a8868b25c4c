"""The geometric distribution (contrib/distributions/python/ops/geometric.py)."""

from typing import Any, ClassVar

import numpy as np

from capstan.api import check_ops, control_flow_ops, creation_ops, random_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, checks, families
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Geometric(families.OfNumbers):
    """The distribution of the number of failures before the first success."""

    _shaped: ClassVar[tuple[str, ...]] = ("probs",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        """Create distributions from the probability of a success, or from its log-odds.

        With `validate_args`, steps check that probabilities are in (0, 1] and that values are
        whole numbers.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs)) as scope:
            self._logits, found = checks.logits_and_probs(
                logits, probs, of_classes=False, validate_args=validate_args
            )
            asserted = [check_ops.assert_positive(found)] if validate_args else []
            [self._probs] = checks.floats(asserted, probs=found)
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._probs, self._logits],
            scope,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        raise NotImplementedError("Geometric has two parameters, of which a program gives one")

    @property
    def logits(self) -> Any:
        """The log-odds of a success."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._probs

    def _whole(self, x: Any) -> Any:
        return checks.counts(x) if self.validate_args else raw.Floor(x)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A uniform number of 0 would give infinity.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_ops.random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return raw.Floor(raw.Log(drawn) / raw.Log1p(-self.probs))

    def _log_prob(self, x: Any) -> Any:
        x = self._whole(x)
        # If a success is certain, 0 failures have the probability 1: 0 * log(0) must not be NaN.
        failing = raw.SelectV2(raw.Equal(x, 0.0), raw.ZerosLike(self.probs), self.probs)
        return x * raw.Log1p(-failing) + raw.Log(self.probs)

    def _cdf(self, x: Any) -> Any:
        x = self._whole(x)
        below = -raw.Expm1((1.0 + x) * raw.Log1p(-self.probs))
        return raw.SelectV2(raw.Less(x, 0.0), raw.ZerosLike(below), below)

    def _entropy(self) -> Any:
        probs = self.probs
        if self.validate_args:
            message = "Entropy is undefined when logits = inf or probs = 1."
            check = check_ops.assert_less(probs, self.dtype.as_numpy_dtype(1), message=message)
            probs = control_flow_ops.with_dependencies([check], probs)
        return raw.Softplus(self.logits) / probs - self.logits

    def _mean(self) -> Any:
        return raw.Exp(-self.logits)

    def _variance(self) -> Any:
        return self._mean() / self.probs

    def _mode(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)
