"""Where a decoder gets its next inputs from (contrib/seq2seq/python/ops/helper.py)."""

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    cond_ops,
    gather_ops,
    math_ops,
    nest,
    random_ops,
    reduce_ops,
)
from capstan.contrib.seq2seq import decoder
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class Helper(abc.ABC):
    """The interface that `BasicDecoder` calls. The samples are the ids of classes by default."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The number of sequences, an int32 scalar."""

    @property
    def sample_ids_shape(self) -> Any:
        return tensor_shape.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return dtypes.int32

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which sequences are finished, and the first inputs."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the samples of the outputs of a step."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs and the next state."""


def embedder(embedding: Any) -> Callable[[Any], Any]:
    """Return a function from ids to vectors: `embedding` itself, or a lookup in this table."""
    if callable(embedding):
        found: Callable[[Any], Any] = embedding
        return found
    return lambda ids: gather_ops.embedding_lookup(embedding, ids)


def tokens(start_tokens: Any, end_token: Any) -> tuple[Any, Any]:
    """Return the start tokens as an int32 vector, and the end token as an int32 scalar.

    Raises:
        ValueError: the start tokens are not a vector, or the end token is not a scalar.
    """
    starts = convert.convert_to_tensor(start_tokens, dtypes.int32, "start_tokens")
    if starts.shape.ndims != 1:
        raise ValueError("start_tokens must be a vector")
    end = convert.convert_to_tensor(end_token, dtypes.int32, "end_token")
    if end.shape.ndims != 0:
        raise ValueError("end_token must be a scalar")
    return starts, end


def _largest(outputs: Any) -> Any:
    return math_ops.cast(reduce_ops.argmax(outputs, -1), dtypes.int32)


class TrainingHelper(Helper):
    """Gives the inputs that are known, of sequences with known lengths.

    Raises:
        ValueError: the lengths are not a vector.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        self._inputs = nest.map_structure(convert.convert_to_tensor, inputs)
        by_time = self._inputs
        if not time_major:
            by_time = nest.map_structure(decoder.transposed, by_time)
        self._arrays = nest.map_structure(decoder.unstacked, by_time)
        self._lengths = convert.convert_to_tensor(sequence_length, dtypes.int32)
        if self._lengths.shape.ndims != 1:
            raise ValueError(
                "Expected sequence_length to be a vector, but received shape: "
                f"{self._lengths.shape}"
            )
        self._zeros = nest.map_structure(lambda value: raw.ZerosLike(value[0]), by_time)
        self._batch_size = array_ops.size(self._lengths)

    @property
    def inputs(self) -> Any:
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        return self._lengths

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    def _at(self, time: Any) -> tuple[Any, Any]:
        """Return which sequences are finished at a time, and the inputs or zeros."""
        finished = raw.LessEqual(self._lengths, time)
        inputs = cond_ops.cond(
            reduce_ops.reduce_all(finished),
            lambda: nest.map_structure(raw.Identity, self._zeros),
            lambda: nest.map_structure(lambda array: array.read(time), self._arrays),
        )
        return finished, inputs

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return self._at(convert.constant(0, dtypes.int32))

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return _largest(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, inputs = self._at(math_ops.add(time, 1))
        return finished, inputs, state


class GreedyEmbeddingHelper(Helper):
    """Gives the vectors of the classes with the largest outputs, until a class ends the sequence.

    `embedding` is a table of vectors, or a function from ids to vectors.

    Raises:
        ValueError: the start tokens are not a vector, or the end token is not a scalar.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embed = embedder(embedding)
        self._start_tokens, self._end_token = tokens(start_tokens, end_token)
        self._batch_size = array_ops.size(self._start_tokens)
        self._start_inputs = self._embed(self._start_tokens)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished = raw.Fill(raw.Shape(self._start_tokens), np.bool_(False))
        return finished, self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return _largest(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = raw.Equal(sample_ids, self._end_token)
        inputs = cond_ops.cond(
            reduce_ops.reduce_all(finished),
            lambda: raw.Identity(self._start_inputs),
            lambda: self._embed(sample_ids),
        )
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Gives the vectors of classes that are drawn with the softmax of the outputs."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        drawn = random_ops.multinomial(logits, 1, seed=self._seed)
        return math_ops.cast(raw.Squeeze(drawn, squeeze_dims=[1]), dtypes.int32)
