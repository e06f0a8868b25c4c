"""`tf.keras.layers.Attention` and its additive form (python/keras/layers/dense_attention.py)."""

from typing import Any

from capstan.api import array_ops, logic_ops, math_ops, nn, reduce_ops
from capstan.api.layers import settings
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.keras import built_in, initializers

_FAR = 1e9
"""The score below all others that a hidden position gets."""


class _DenseAttention(built_in.BuiltIn):
    """For each query, the mean of the values, weighted by how well their keys fit.

    The inputs are a list of the queries [..., Tq, depth], the values [..., Tv, depth] and
    optionally the keys, which are the values by default. The outputs are [..., Tq, depth]. A mask
    of the queries sets outputs to 0, and a mask of the values hides values. With `causal`, a query
    does not see later values.
    """

    supports_masking = True

    def __init__(self, use_scale: bool, causal: bool, kwargs: dict[str, Any]) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.causal = causal
        self.scale: Any = None

    def _scores(self, query: Any, key: Any) -> Any:
        """Return how well each key fits each query, [..., Tq, Tv]."""
        raise NotImplementedError(f"{type(self).__name__} defines no scores")

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Raises ValueError if the inputs or masks are not a list of two or three members."""
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        scores = self._scores(query, inputs[2] if len(inputs) > 2 else value)
        seen = self._seen(scores, None if mask is None else mask[1])
        if seen is not None:
            hidden = math_ops.cast(logic_ops.logical_not(seen), settings.SETTINGS.floatx)
            scores = scores - _FAR * math_ops.cast(hidden, scores.dtype)
        result = math_ops.matmul(nn.softmax(scores), value)
        if mask is None or mask[0] is None:
            return result
        return result * math_ops.cast(array_ops.expand_dims(mask[0], -1), result.dtype)

    def _seen(self, scores: Any, value_mask: Any) -> Any:
        """Return which values each query sees, or None if it sees all."""
        seen = None
        if value_mask is not None:
            seen = array_ops.expand_dims(math_ops.cast(value_mask, "bool"), -2)
        if self.causal:
            sizes = array_ops.shape(scores)
            queries = array_ops.expand_dims(math_ops.range(sizes[-2]), 1)
            earlier = queries >= array_ops.expand_dims(math_ops.range(sizes[-1]), 0)
            seen = earlier if seen is None else logic_ops.logical_and(seen, earlier)
        return seen

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the queries."""
        self._check(inputs, mask)
        if not mask or mask[0] is None:
            return None
        return convert.convert_to_tensor(mask[0])

    def _check(self, inputs: Any, mask: Any) -> None:  # type: ignore[override]
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f"{name} layer must be called on a list of inputs, namely [query, value] or "
                "[query, value, key]."
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or "
                f"[query, value, key]. Given length: {len(inputs)}"
            )
        if mask and not isinstance(mask, list):
            raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask].")
        # The layers of the inputs give a mask for each input, also for the keys.
        if mask and not 2 <= len(mask) <= len(inputs):
            raise ValueError(
                f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. "
                f"Given length: {len(mask)}"
            )


class Attention(_DenseAttention):
    """Attention by dot products of queries and keys (Luong et al., 2015).

    With `use_scale`, a trained scalar multiplies the scores.
    """

    def __init__(self, use_scale: bool = False, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(use_scale, causal, kwargs)

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer=initializers.Ones())
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        scores = math_ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(_DenseAttention):
    """Attention by sums: the score is the sum of scale * tanh(query + key) (Bahdanau et al., 2014).

    With `use_scale`, the scale is a trained vector, and otherwise 1.
    """

    def __init__(self, use_scale: bool = True, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(use_scale, causal, kwargs)

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            depth = tensor_shape.as_shape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight("scale", (depth,))
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        sums = array_ops.expand_dims(query, -2) + array_ops.expand_dims(key, -3)
        parts = math_ops.tanh(sums)
        return reduce_ops.reduce_sum(parts if self.scale is None else self.scale * parts, axis=-1)
