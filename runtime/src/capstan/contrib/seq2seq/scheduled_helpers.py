"""Helpers that feed some samples back in training (contrib/seq2seq/python/ops/helper.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    cond_ops,
    gather_ops,
    math_ops,
    nd_ops,
    nest,
    random_ops,
    reduce_ops,
)
from capstan.contrib.seq2seq import decoder, helpers
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class _Scheduled(helpers.TrainingHelper):
    """Chooses sequences with a probability, which is a scalar, or a vector [batch]."""

    def __init__(
        self, inputs: Any, sequence_length: Any, probability: Any, time_major: bool, seed: Any
    ) -> None:
        self._probability = convert.convert_to_tensor(probability, name="sampling_probability")
        if self._probability.shape.ndims not in (0, 1):
            raise ValueError(
                "sampling_probability must be either a scalar or a vector. saw shape: "
                f"{self._probability.shape}"
            )
        self._schedule_seed = seed
        super().__init__(inputs, sequence_length, time_major)

    def _chosen(self) -> Any:
        """Draw which sequences go on with a sample, a bool vector."""
        drawn = random_ops.random_uniform(
            raw.Pack([self.batch_size]), dtype=self._probability.dtype, seed=self._schedule_seed
        )
        return raw.Less(drawn, self._probability)


class ScheduledEmbeddingTrainingHelper(_Scheduled):
    """Gives known inputs, or, with the probability `sampling_probability`, the vectors of samples.

    The samples are classes that are drawn with the softmax of the outputs, or -1 where the known
    inputs are used. `embedding` is a table of vectors, or a function from ids to vectors.

    Raises:
        ValueError: the probability has more than one axis, or the lengths are not a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, sampling_probability, time_major, scheduling_seed)
        self._embed = helpers.embedder(embedding)
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        drawn = random_ops.multinomial(outputs, 1, seed=self._seed)
        ids = math_ops.cast(raw.Squeeze(drawn, squeeze_dims=[1]), dtypes.int32)
        nothing = raw.Fill(raw.Pack([self.batch_size]), np.int32(-1))
        return gather_ops.where(self._chosen(), ids, nothing)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, known, state = super().next_inputs(time, outputs, state, sample_ids)
        inputs = cond_ops.cond(
            reduce_ops.reduce_all(finished),
            lambda: raw.Identity(known),
            lambda: _replaced(
                known,
                raw.Greater(sample_ids, -1),
                lambda rows: self._embed(nd_ops.gather_nd(sample_ids, rows)),
            ),
        )
        return finished, inputs, state


class ScheduledOutputTrainingHelper(_Scheduled):
    """Gives known inputs, or, with the probability `sampling_probability`, the outputs of the cell.

    The samples are true where the outputs are used, after `next_inputs_fn` if it is given.
    `auxiliary_inputs` are known inputs that are joined to both.

    Raises:
        ValueError: the probability has more than one axis, or the lengths are not a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._others: Any = None
        if auxiliary_inputs is not None:
            others = convert.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
            inputs = _joined(convert.convert_to_tensor(inputs, name="inputs"), others)
            by_time = others if time_major else decoder.transposed(others)
            self._others = decoder.unstacked(by_time)
        super().__init__(inputs, sequence_length, sampling_probability, time_major, seed)
        self._next_inputs_fn = next_inputs_fn

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        # The samples are numbers, which BasicDecoder keeps as int32.
        return math_ops.cast(self._chosen(), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, known, state = super().next_inputs(time, outputs, state, sample_ids)
        is_chosen = math_ops.cast(sample_ids, dtypes.bool_)
        is_known = raw.LogicalOr(
            reduce_ops.reduce_all(finished), raw.LogicalNot(reduce_ops.reduce_any(is_chosen))
        )
        inputs = cond_ops.cond(
            is_known,
            lambda: nest.map_structure(raw.Identity, known),
            lambda: _replaced(known, is_chosen, lambda rows: self._sampled(time, outputs, rows)),
        )
        return finished, inputs, state

    def _sampled(self, time: Any, outputs: Any, rows: Any) -> Any:
        """Return the inputs that the outputs of some sequences make."""
        made = nd_ops.gather_nd(outputs, rows)
        if self._next_inputs_fn is not None:
            made = self._next_inputs_fn(made)
        if self._others is None:
            return made
        others = self._others.read(math_ops.add(time, 1))
        return _joined(made, nd_ops.gather_nd(others, rows))


def _joined(first: Any, second: Any) -> Any:
    return array_ops.concat([first, second], -1)


def _replaced(known: Any, is_chosen: Any, made: Callable[[Any], Any]) -> Any:
    """Return `known` with the rows that are chosen replaced by `made(rows)`."""
    chosen = math_ops.cast(gather_ops.where(is_chosen), dtypes.int32)
    others = math_ops.cast(gather_ops.where(raw.LogicalNot(is_chosen)), dtypes.int32)
    sizes = raw.Shape(known)
    kept = raw.ScatterNd(others, nd_ops.gather_nd(known, others), sizes)
    result = kept + raw.ScatterNd(chosen, made(chosen), sizes)
    result.set_shape(known.shape)
    return result
