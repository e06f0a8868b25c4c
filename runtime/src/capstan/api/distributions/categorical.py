"""The distribution of one of several classes (python/ops/distributions/categorical.py)."""

from typing import Any

from capstan.api import counting_ops, creation_ops, nn, random_ops, reduce_ops
from capstan.api.distributions import checks, families, reparameterization
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class Categorical(families.OfVectors):
    """The distribution of the numbers of classes: 0, 1, ..., K - 1."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        """Create distributions from probabilities along the last axis, or from their logarithms.

        `logits` need no normalization. With `validate_args`, probabilities must have the sum 1, and
        values must be whole numbers.

        Raises:
            ValueError: both `logits` and `probs` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        with scoped(None, name, (logits, probs)) as scope:
            self._logits, self._probs = checks.logits_and_probs(
                logits, probs, of_classes=True, validate_args=validate_args
            )
            if validate_args:
                self._logits = checks.classes(self._logits)
            self._whole = self._logits
            count = self._logits.shape.with_rank_at_least(1)
            known = None if count.ndims is None else count.as_list()[-1]
            self._event_size = (
                raw.Shape(self._logits)[-1] if known is None else convert.constant(known)
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
    def event_size(self) -> Any:
        """The number of classes, as a tensor of int32."""
        return self._event_size

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._probs

    def _event_shape(self) -> Any:
        return tensor_shape.scalar()

    def _event_shape_tensor(self) -> Any:
        return convert.constant([], dtypes.int32)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        rows = self.logits
        if rows.shape.ndims != 2:
            rows = raw.Reshape(rows, raw.Pack([-1, self.event_size]))
        kind = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        drawn = random_ops.multinomial(rows, n, seed, output_dtype=kind)
        sizes = raw.ConcatV2([[n], self.batch_shape_tensor()], 0)
        return raw.Cast(raw.Reshape(raw.Transpose(drawn, [1, 0]), sizes), DstT=self.dtype)

    def _log_prob(self, k: Any) -> Any:
        labels, logits = self._aligned(k, self.logits)
        return -nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, k: Any) -> Any:
        # As in TensorFlow 1, this is the probability of the classes below k, without k.
        labels, probs = self._aligned(k, self.probs)
        is_below = counting_ops.sequence_mask(labels, self.event_size)
        return reduce_ops.reduce_sum(raw.SelectV2(is_below, probs, raw.ZerosLike(probs)), -1)

    def _aligned(self, k: Any, parameter: Any) -> tuple[Any, Any]:
        """Return classes as integers, and a parameter with one row for each of them.

        Raises:
            TypeError: `k` is neither of an integer nor of a floating-point dtype.
        """
        if self.validate_args:
            k = checks.whole(k, dtypes.int32)
        if k.dtype.is_floating:
            k = raw.Cast(k, DstT=dtypes.int32)
        elif not k.dtype.is_integer:
            raise TypeError(
                f"`value` should have integer `dtype` or `self.dtype` ({self.dtype.base_dtype}). "
                f"Its dtype is {k.dtype.name}."
            )
        batch = parameter.shape[:-1]
        if batch.is_fully_defined() and k.shape.is_fully_defined() and batch == k.shape:
            return k, parameter
        ones = creation_ops.ones_like(raw.ExpandDims(k, -1), parameter.dtype.base_dtype)
        parameter = parameter * ones
        k = k * creation_ops.ones(raw.Shape(parameter)[:-1], k.dtype)
        if parameter.shape.ndims is not None:
            k.set_shape(parameter.shape[:-1])
        return k, parameter

    def _entropy(self) -> Any:
        return -reduce_ops.reduce_sum(nn.log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Any:
        mode = raw.Cast(reduce_ops.argmax(self.logits, axis=-1), DstT=self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@RegisterKL(Categorical, Categorical)
def _divergence(a: Categorical, b: Categorical, name: str | None = None) -> Any:
    with scoped(name, "kl_categorical_categorical", (a.logits, b.logits)):
        ratio = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return reduce_ops.reduce_sum(nn.softmax(a.logits) * ratio, -1)
