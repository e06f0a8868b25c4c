"""Helpers whose decisions are functions of the user (contrib/seq2seq/python/ops/helper.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops
from capstan.api.scoped import scoped
from capstan.contrib.seq2seq import helpers
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class _OwnSamples(helpers.Helper):
    """A helper whose samples have a shape and a dtype that the user gives."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape = tensor_shape.TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._dtype


class CustomHelper(_OwnSamples):
    """A helper of three functions, which are called with keyword arguments.

    `initialize_fn()` returns which sequences are finished, and the first inputs.
    `sample_fn(time, outputs, state)` returns the samples of a step.
    `next_inputs_fn(time, outputs, state, sample_ids)` returns which sequences are finished, the
    next inputs and the next state. A sample has the shape `sample_ids_shape` (default: a scalar)
    and the dtype `sample_ids_dtype` (default: int32).
    """

    def __init__(
        self,
        initialize_fn: Callable[[], tuple[Any, Any]],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., tuple[Any, Any, Any]],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        super().__init__(sample_ids_shape or [], sample_ids_dtype or dtypes.int32)
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None

    @property
    def batch_size(self) -> Any:
        """The number of sequences.

        Raises:
            ValueError: `initialize` was not called before.
        """
        if self._batch_size is None:
            raise ValueError(
                "batch_size accessed before initialize was called. The number of sequences is that "
                "of the result of initialize_fn"
            )
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with scoped(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = array_ops.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with scoped(name, f"{type(self).__name__}Sample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with scoped(name, f"{type(self).__name__}NextInputs"):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class InferenceHelper(_OwnSamples):
    """Draws samples with `sample_fn(outputs)`, and feeds them back.

    A sample has the shape `sample_shape` and the dtype `sample_dtype`. The first inputs are
    `start_inputs`, of the shape [batch, ...], and the next ones are `next_inputs_fn(sample_ids)`,
    or the samples if there is no such function. `end_fn(sample_ids)` returns a bool vector that
    tells which sequences are finished.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(sample_shape, sample_dtype)
        self._sample_fn = sample_fn
        self._start_inputs = convert.convert_to_tensor(start_inputs, name="start_inputs")
        self._end_fn = end_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size = array_ops.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return raw.Fill(raw.Pack([self._batch_size]), np.bool_(False)), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
