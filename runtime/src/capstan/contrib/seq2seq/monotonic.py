"""Attention that moves through a memory from left to right only (Raffel et al., 2017).

The behaviour follows contrib/seq2seq/python/ops/attention_wrapper.py.
"""

import functools
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    clip_ops,
    creation_ops,
    functional_ops,
    math_ops,
    random_ops,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api.scoped import scoped
from capstan.contrib.seq2seq import attention
from capstan.core import dtypes
from capstan.framework import convert


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the cumulative product of numbers between 0 and 1, computed as a sum of logarithms.

    Numbers close to 0 therefore leave no product or gradient of 0. The other arguments are those of
    `tf.cumsum`.
    """
    with scoped(None, "SafeCumprod"):
        x = convert.convert_to_tensor(x, name="x")
        least = np.finfo(x.dtype.as_numpy_dtype).tiny
        logarithms = math_ops.log(clip_ops.clip_by_value(x, least, 1))
        return math_ops.exp(reduce_ops.cumsum(logarithms, *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Return the probabilities that each step of a memory is the one that a query attends to.

    `p_choose_i` are the probabilities that a query which comes to a step stays there, and
    `previous_attention` those that the query before attended to each step. Both have the shape
    [batch, time], as the result. The attention before the first query is 1 at the first step. The
    query passes the steps from left to right, from the step of the query before.

    The mode "recursive" is exact and takes a loop over the steps. "parallel" is quick, and wrong
    where probabilities are close to 0 or 1, or the memory is long. "hard" is exact for
    probabilities that are 0 or 1.

    Raises:
        ValueError: the mode has another name.
    """
    choices = convert.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        return choices * _arrivals(choices, previous)
    if mode == "parallel":
        passes = safe_cumprod(1 - choices, axis=1, exclusive=True)
        starts = previous / clip_ops.clip_by_value(passes, 1e-10, 1.0)
        return choices * passes * reduce_ops.cumsum(starts, axis=1)
    if mode == "hard":
        choices = choices * reduce_ops.cumsum(previous, axis=1)
        return choices * reduce_ops.cumprod(1 - choices, axis=1, exclusive=True)
    raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', not {mode!r}.")


def _arrivals(choices: Any, previous: Any) -> Any:
    """Return the probabilities that a query comes to each step, in a loop over the steps."""
    passes = array_ops.concat([creation_ops.ones_like(choices[:, :1]), 1 - choices[:, :-1]], 1)
    arrivals = functional_ops.scan(
        lambda before, step: array_ops.reshape(step[0] * before + step[1], array_ops.shape(before)),
        [array_ops.transpose(passes), array_ops.transpose(previous)],
        creation_ops.zeros_like(choices[:, 0]),
    )
    return array_ops.transpose(arrivals)


def _probabilities(score: Any, previous: Any, noise: float, mode: str, seed: Any) -> Any:
    """Return the alignments of scores. Noise makes a model learn scores far from 0."""
    if noise > 0:
        score = score + noise * random_ops.random_normal(
            array_ops.shape(score), dtype=score.dtype, seed=seed
        )
    choices = math_ops.cast(score > 0, score.dtype) if mode == "hard" else math_ops.sigmoid(score)
    return monotonic_attention(choices, previous, mode)


class _MonotonicAttentionMechanism(attention._BaseAttentionMechanism):
    """A mechanism whose alignments depend on those of the query before."""

    def __init__(
        self, num_units: int, memory: Any, query_layer: Any, lengths: Any, score_mask_value: Any,
        noise: float, seed: Any, score_bias_init: Any, mode: str, dtype: Any, name: str,
    ) -> None:  # fmt: skip
        choose = functools.partial(_probabilities, noise=noise, mode=mode, seed=seed)
        layer = attention.projection(num_units, "memory_layer", dtype)
        super().__init__(
            query_layer, memory, choose, lengths, layer, score_mask_value=score_mask_value,
            name=name,
        )  # fmt: skip
        self._num_units = num_units
        self._score_bias_init = score_bias_init

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return 1 at the first step of each memory, and 0 elsewhere."""
        firsts = creation_ops.zeros(array_ops.stack([batch_size]), dtypes.int32)
        firsts.set_shape([convert.constant_value(convert.convert_to_tensor(batch_size))])
        return creation_ops.one_hot(firsts, self._alignments_size, dtype=dtype)

    def _aligned(self, score: Any, state: Any) -> tuple[Any, Any]:
        bias = variable_scope.get_variable(
            "attention_score_bias", dtype=score.dtype, initializer=self._score_bias_init
        )
        alignments = self._probability_fn(score + bias, state)
        return alignments, alignments


class BahdanauMonotonicAttention(_MonotonicAttentionMechanism):
    """Monotonic attention with the scores of BahdanauAttention, plus a variable.

    `sigmoid_noise` is the standard deviation of noise that is added to the scores in training, and
    `score_bias_init` is the first value of the variable, a number. `mode` is one of those of
    `monotonic_attention`: "hard" takes the signs of the scores as probabilities. The other
    arguments are those of BahdanauAttention.
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None,
        normalize: bool = False, score_mask_value: Any = None, sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: Any = None, score_bias_init: float = 0.0, mode: str = "parallel",
        dtype: Any = None, name: str = "BahdanauMonotonicAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, memory, attention.projection(num_units, "query_layer", dtype),
            memory_sequence_length, score_mask_value, sigmoid_noise, sigmoid_noise_seed,
            score_bias_init, mode, dtype, name,
        )  # fmt: skip
        self._normalize = normalize

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "bahdanau_monotonic_attention", [query]):
            hidden = self.query_layer(query)
            score = attention.bahdanau_score(hidden, self._keys, self._num_units, self._normalize)
            return self._aligned(score, state)


class LuongMonotonicAttention(_MonotonicAttentionMechanism):
    """Monotonic attention with the scores of LuongAttention, plus a variable.

    The arguments are those of BahdanauMonotonicAttention and of LuongAttention.
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        score_mask_value: Any = None, sigmoid_noise: float = 0.0, sigmoid_noise_seed: Any = None,
        score_bias_init: float = 0.0, mode: str = "parallel", dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, memory, None, memory_sequence_length, score_mask_value, sigmoid_noise,
            sigmoid_noise_seed, score_bias_init, mode, dtype, name,
        )  # fmt: skip
        self._scale = scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "luong_monotonic_attention", [query]):
            score = attention.luong_score(query, self._keys, self._scale)
            return self._aligned(score, state)
