"""Differentiable samples that are nearly one-hot vectors.

The source is contrib/distributions/python/ops/relaxed_onehot_categorical.py. Jang et al. and
Maddison et al. describe the distribution (arXiv 1611.01144 and 1611.00712).
"""

from typing import Any

import numpy as np

from capstan.api import check_ops, math_ops, nn, random_ops, reduce_ops
from capstan.api.distributions import FULLY_REPARAMETERIZED, checks, families
from capstan.api.scoped import scoped
from capstan.contrib.distributions import bijectors
from capstan.contrib.distributions.transformed_distribution import TransformedDistribution
from capstan.framework import convert
from capstan.framework.raw import raw


class ExpRelaxedOneHotCategorical(families.OfVectors):
    """The distribution of the logarithms of a RelaxedOneHotCategorical."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        """Create distributions from a positive temperature, and probabilities or their logarithms.

        `temperature` has the batch shape, or is a number. With `validate_args`, steps check that it
        is positive.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs, temperature)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=True, validate_args=validate_args
            )
            self._whole = self._logits
            kind = self._logits.dtype.base_dtype
            warmth = math_ops.cast(convert.convert_to_tensor(temperature), kind)
            asserted = [check_ops.assert_positive(warmth)] if validate_args else []
            [self._temperature] = checks.floats(asserted, temperature=warmth)
        super().__init__(
            kind if dtype is None else dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._logits, self._probs, self._temperature],
            scope,
        )

    @property
    def event_size(self) -> Any:
        """The number of classes, as a tensor of int32."""
        return raw.Shape(self._logits)[-1]

    @property
    def temperature(self) -> Any:
        """The temperature. Samples of a low temperature are near one-hot vectors."""
        return self._temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self.logits)], 0)
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_ops.random_uniform(shape, least, 1.0, self.dtype, seed)
        gumbel = -raw.Log(-raw.Log(drawn))
        return nn.log_softmax((gumbel + self.logits) / raw.ExpandDims(self.temperature, -1))

    def _log_prob(self, x: Any) -> Any:
        count = raw.Cast(self.event_size, DstT=self.dtype)
        constant = raw.Lgamma(count) + (count - 1.0) * raw.Log(self.temperature)
        powers = nn.log_softmax(self.logits - x * raw.ExpandDims(self.temperature, -1))
        return constant + reduce_ops.reduce_sum(powers, -1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """The distribution of positive vectors with the sum 1, whose samples have gradients."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        """Create distributions of the exponentials of an ExpRelaxedOneHotCategorical."""
        parameters = dict(locals())
        logarithm = ExpRelaxedOneHotCategorical(
            temperature, logits, probs, dtype, validate_args, allow_nan_stats
        )
        super().__init__(logarithm, bijectors.Exp(), name=name)
        self._parameters = parameters
