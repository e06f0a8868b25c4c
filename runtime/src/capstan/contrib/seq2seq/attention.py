"""Mechanisms that give alignments between a query and the steps of a memory.

The behaviour follows contrib/seq2seq/python/ops/attention_wrapper.py.
"""

import math
from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    context,
    counting_ops,
    creation_ops,
    gather_ops,
    init_ops,
    math_ops,
    nn,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api.layers import core
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class AttentionMechanism:
    """What an AttentionWrapper needs of a mechanism: sizes of its alignments and of its state."""

    @property
    def alignments_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        raise NotImplementedError("Abstract method")


class _BaseAttentionMechanism(AttentionMechanism):
    """Keys and values of a memory. A call gives the alignments of a query, and the next state.

    The memory is a tensor [batch, time, ...]. Its values are 0 behind the end of a sequence of
    `memory_sequence_length` steps, and `memory_layer` makes the keys of them. `custom_key_value_fn`
    takes the keys and the values, and returns others. `probability_fn(scores, state)` makes
    alignments of scores. Steps behind the end of a sequence have the score `score_mask_value`, by
    default -inf. A length that is not positive makes a step raise InvalidArgumentError.

    Raises:
        TypeError: a layer is not a Layer, or `probability_fn` is not callable.
        ValueError: the inner sizes of the memory are unknown and `check_inner_dims_defined`.
    """

    def __init__(
        self, query_layer: Any, memory: Any, probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None, memory_layer: Any = None,
        check_inner_dims_defined: bool = True, score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        for kind, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not callable(layer):
                raise TypeError(f"{kind} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self._unmasked_probability_fn = probability_fn
        self._mask_value = -math.inf if score_mask_value is None else score_mask_value
        with scoped(name, "BaseAttentionMechanismInit"):
            memory = convert.convert_to_tensor(memory, name="memory")
            if check_inner_dims_defined and None in memory.shape.as_list()[2:]:
                raise ValueError(
                    f"Expected memory {memory.name} to have fully defined inner dims, but saw "
                    f"shape: {memory.shape}"
                )
            self._mask = _mask(memory, memory_sequence_length)
            values = memory if self._mask is None else _masked(memory, self._mask)
            keys = values if memory_layer is None else memory_layer(values)
            if custom_key_value_fn is not None:
                keys, values = custom_key_value_fn(keys, values)
        self._keys, self._values = keys, values
        batch, steps = keys.shape.as_list()[:2]
        self._batch_size = batch or array_ops.shape(keys)[0]
        self._alignments_size = steps or array_ops.shape(keys)[1]

    @property
    def memory_layer(self) -> Any:
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        return self._query_layer

    @property
    def keys(self) -> Any:
        return self._keys

    @property
    def values(self) -> Any:
        return self._values

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return zeros: no attention."""
        alignments = creation_ops.zeros(raw.Pack([batch_size, self._alignments_size]), dtype)
        alignments.set_shape([convert.constant_value(convert.convert_to_tensor(batch_size)),
                              self._keys.shape.as_list()[1]])  # fmt: skip
        return alignments

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the state before the first step: the initial alignments."""
        return self.initial_alignments(batch_size, dtype)

    def _probability_fn(self, score: Any, state: Any) -> Any:
        """Return the alignments of scores [batch, time]."""
        if self._mask is not None:
            missing = raw.Fill(raw.Shape(score), self._mask_value)
            score = gather_ops.where(self._mask, score, math_ops.cast(missing, score.dtype))
        return self._unmasked_probability_fn(score, state)


def _mask(memory: Any, lengths: Any) -> Any:
    """Return which steps of a memory are inside of the sequences, or None for all steps."""
    if lengths is None:
        return None
    lengths = convert.convert_to_tensor(lengths, name="memory_sequence_length")
    message = "All values in memory_sequence_length must be greater than zero."
    with context.control_dependencies([check_ops.assert_positive(lengths, message=message)]):
        return counting_ops.sequence_mask(lengths, array_ops.shape(memory)[1])


def _masked(memory: Any, mask: Any) -> Any:
    inner = [1] * (memory.shape.ndims - 2)
    sizes = array_ops.concat([raw.Shape(mask), inner], 0) if inner else raw.Shape(mask)
    return memory * raw.Reshape(math_ops.cast(mask, memory.dtype), sizes)


def hardmax(logits: Any, name: str | None = None) -> Any:
    """Return 1 at the largest logit along the last axis, and 0 elsewhere, in the logits' dtype."""
    with scoped(name, "Hardmax"):
        logits = convert.convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1] or array_ops.shape(logits)[-1]
        return creation_ops.one_hot(reduce_ops.argmax(logits, -1), depth, dtype=logits.dtype)


def projection(units: int, name: str, dtype: Any) -> core.Dense:
    """Return the layer that brings queries or a memory to the size `units`."""
    return core.Dense(units, use_bias=False, name=name, dtype=dtype)


def luong_score(query: Any, keys: Any, scale: bool) -> Any:
    """Return the products of queries [batch, units] and keys [batch, time, units].

    If `scale`, the variable `attention_g` of the current scope multiplies them.

    Raises:
        ValueError: the query and the keys have different sizes.
    """
    own, other = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if own != other:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys. Query ({query.name})"
            f" has units: {own}. Keys ({keys.name}) have units: {other}. Perhaps you need to set "
            f"num_units to the keys' dimension ({own})?"
        )
    score = math_ops.matmul(raw.ExpandDims(query, 1), keys, transpose_b=True)
    score = raw.Squeeze(score, squeeze_dims=[1])
    if not scale:
        return score
    return score * variable_scope.get_variable("attention_g", [], query.dtype, init_ops.Ones)


def bahdanau_score(query: Any, keys: Any, units: int, normalize: bool) -> Any:
    """Return the scores of a layer with tanh, from queries [batch, units] and keys.

    The weights of the layer are the variable `attention_v` of the current scope. With `normalize`,
    the variable `attention_g` is their length, and `attention_b` is a bias.
    """
    hidden = raw.ExpandDims(query, 1) + keys
    weights = variable_scope.get_variable("attention_v", [units], query.dtype)
    if normalize:
        start = init_ops.Constant(math.sqrt(1.0 / units))
        length = variable_scope.get_variable("attention_g", [], query.dtype, start)
        hidden = hidden + variable_scope.get_variable(
            "attention_b", [units], query.dtype, init_ops.Zeros
        )
        squares = reduce_ops.reduce_sum(raw.Square(weights))
        weights = length * weights * raw.Rsqrt(squares)
    return reduce_ops.reduce_sum(weights * raw.Tanh(hidden), [2])


class LuongAttention(_BaseAttentionMechanism):
    """The products of the query and the keys are the scores. `scale` multiplies them by a variable.

    The other arguments are those of the mechanisms of TensorFlow: `probability_fn(scores)`, by
    default softmax, makes alignments, and `custom_key_value_fn` takes and returns keys and values.
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        probability_fn: Any = None, score_mask_value: Any = None, dtype: Any = None,
        custom_key_value_fn: Any = None, name: str = "LuongAttention",
    ) -> None:  # fmt: skip
        choose = probability_fn or nn.softmax
        super().__init__(
            None, memory, lambda score, _: choose(score), memory_sequence_length,
            projection(num_units, "memory_layer", dtype), True, score_mask_value,
            custom_key_value_fn, name,
        )  # fmt: skip
        self._num_units = num_units
        self._scale = scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "luong_attention", [query]):
            score = luong_score(query, self._keys, self._scale)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauAttention(_BaseAttentionMechanism):
    """A layer with tanh gives the scores. `normalize` gives its weights a length of their own.

    The other arguments are those of LuongAttention.
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None,
        normalize: bool = False, probability_fn: Any = None, score_mask_value: Any = None,
        dtype: Any = None, custom_key_value_fn: Any = None, name: str = "BahdanauAttention",
    ) -> None:  # fmt: skip
        choose = probability_fn or nn.softmax
        super().__init__(
            projection(num_units, "query_layer", dtype), memory, lambda score, _: choose(score),
            memory_sequence_length, projection(num_units, "memory_layer", dtype), True,
            score_mask_value, custom_key_value_fn, name,
        )  # fmt: skip
        self._num_units = num_units
        self._normalize = normalize

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "bahdanau_attention", [query]):
            hidden = self.query_layer(query)
            score = bahdanau_score(hidden, self._keys, self._num_units, self._normalize)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
