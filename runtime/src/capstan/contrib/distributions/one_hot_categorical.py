"""The distribution of one of several classes, as a vector (contrib's onehot_categorical.py)."""

from typing import Any

from capstan.api import (
    check_ops,
    check_types,
    control_flow_ops,
    creation_ops,
    nn,
    random_ops,
    reduce_ops,
)
from capstan.api.distributions import NOT_REPARAMETERIZED, RegisterKL, checks, families
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework.raw import raw


class OneHotCategorical(families.OfVectors):
    """The distribution of vectors with a 1 at one class, and zeros."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        """Create distributions from probabilities along the last axis, or from their logarithms.

        `logits` need no normalization. With `validate_args`, probabilities and values must have the
        sum 1.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=True, validate_args=validate_args
            )
            self._whole = self._logits
        super().__init__(
            dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._logits, self._probs],
            scope,
        )

    @property
    def event_size(self) -> Any:
        """The number of classes, as a tensor of int32."""
        return raw.Shape(self._logits)[-1]

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        classes = self.event_size
        rows = raw.Reshape(self.logits, raw.Pack([-1, classes]))
        drawn = raw.Transpose(random_ops.multinomial(rows, n, seed), [1, 0])
        marks = creation_ops.one_hot(drawn, classes, dtype=self.dtype)
        return raw.Reshape(marks, raw.ConcatV2([[n], raw.Shape(self.logits)], 0))

    def _log_prob(self, x: Any) -> Any:
        x = raw.Cast(x, DstT=self.logits.dtype.base_dtype)
        if self.validate_args:
            total = reduce_ops.reduce_sum(x, -1)
            asserted = [check_ops.assert_non_negative(x), check_types.assert_near(total, 1.0)]
            x = control_flow_ops.with_dependencies(asserted, x)
        return reduce_ops.reduce_sum(raw.MulNoNan(nn.log_softmax(self.logits), x), -1)

    def _entropy(self) -> Any:
        return -reduce_ops.reduce_sum(nn.log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Any:
        best = reduce_ops.argmax(self.logits, axis=-1)
        mode = creation_ops.one_hot(best, self.event_size, dtype=self.dtype)
        mode.set_shape(self.logits.shape)
        return mode

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _covariance(self) -> Any:
        return families.negative_outer_product(self.probs, self.probs, self._variance())


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _divergence(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Any:
    with scoped(name, "kl_categorical_categorical", (a.logits, b.logits)):
        ratio = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return reduce_ops.reduce_sum(nn.softmax(a.logits) * ratio, -1)
