"""Differentiable samples that are nearly 0 or 1.

The source is contrib/distributions/python/ops/relaxed_bernoulli.py. Jang et al. and Maddison et al.
describe the distribution (arXiv 1611.01144 and 1611.00712).
"""

from typing import Any

from capstan.api import check_ops
from capstan.api.distributions import checks
from capstan.api.scoped import scoped
from capstan.contrib.distributions import bijectors
from capstan.contrib.distributions.logistic import Logistic
from capstan.contrib.distributions.transformed_distribution import TransformedDistribution
from capstan.core import dtypes
from capstan.framework import convert


class RelaxedBernoulli(TransformedDistribution):
    """The distribution of the sigmoid of a logistic number, whose samples have gradients."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        """Create distributions from a positive temperature, and the log-odds or probability of 1.

        Samples of a low temperature are near 0 or 1. With `validate_args`, steps check that the
        temperature is positive.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs, temperature)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=False, validate_args=validate_args
            )
            kind = self._logits.dtype.base_dtype
            warmth = convert.convert_to_tensor(temperature, kind)
            asserted = [check_ops.assert_positive(warmth)] if validate_args else []
            [self._temperature] = checks.floats(asserted, temperature=warmth)
            logistic = Logistic(
                self._logits / self._temperature,
                1.0 / self._temperature,
                validate_args,
                allow_nan_stats,
            )
            sigmoid = bijectors.Sigmoid(validate_args)
        super().__init__(logistic, sigmoid, validate_args=validate_args, name=scope)
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"logits": convert.convert_to_tensor(sample_shape, dtypes.int32)}

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self._temperature

    @property
    def logits(self) -> Any:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of 1."""
        return self._probs
