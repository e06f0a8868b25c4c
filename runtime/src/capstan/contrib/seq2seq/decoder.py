"""`dynamic_decode`: a loop of the steps of a decoder (contrib/seq2seq/python/ops/decoder.py)."""

import abc
from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    gather_ops,
    math_ops,
    nest,
    reduce_ops,
    scope_block,
    while_ops,
)
from capstan.api import tensor_array_ops as arrays
from capstan.api.rnn import cells
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class Decoder(abc.ABC):
    """The interface that `dynamic_decode` calls. A subclass defines all but the last two."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The number of sequences, an int32 scalar."""

    @property
    @abc.abstractmethod
    def output_size(self) -> Any:
        """The sizes of the outputs of one step, without the batch."""

    @property
    @abc.abstractmethod
    def output_dtype(self) -> Any:
        """The dtypes of the outputs."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the first inputs and the first state."""

    @abc.abstractmethod
    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the outputs, the next state, the next inputs and which sequences are finished."""

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state, in the form that callers get."""
        return outputs, final_state

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a sequence may become unfinished again."""
        return False


def transposed(value: Any) -> Any:
    """Return a tensor with its first two axes swapped. A tensor of a lower rank is unchanged."""
    rank = value.shape.ndims
    return value if rank is None or rank < 2 else raw.Transpose(value, [1, 0, *range(2, rank)])


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a decoder until all sequences are finished.

    Return the outputs with the shape [batch, time, ...], the last state, and the lengths of the
    sequences. With `impute_finished`, a finished sequence emits zeros and keeps its state.

    Raises:
        TypeError: `decoder` is not a Decoder.
        ValueError: `maximum_iterations` is not a scalar, or the structure of a state changes.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with scope_block.variable_scope(scope, "decoder"):
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            maximum_iterations = convert.convert_to_tensor(maximum_iterations, dtypes.int32)
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
            finished = raw.LogicalOr(finished, raw.LessEqual(maximum_iterations, 0))
        loop = _Loop(decoder, impute_finished)
        first = (
            convert.constant(0, dtypes.int32), loop.arrays(), state, inputs, finished,
            creation_ops.zeros_like(finished, dtypes.int32),
        )  # fmt: skip
        last = while_ops.while_loop(
            lambda *values: raw.LogicalNot(reduce_ops.reduce_all(values[4])), loop.body, first,
            parallel_iterations=parallel_iterations, swap_memory=swap_memory,
            maximum_iterations=maximum_iterations,
        )  # fmt: skip
        outputs = nest.map_structure(lambda array: array.stack(), last[1])
        outputs, state = decoder.finalize(outputs, last[2], last[5])
        if not output_time_major:
            outputs = nest.map_structure(transposed, outputs)
        return outputs, state, last[5]


class _Loop:
    """The body of the loop of a decoder."""

    def __init__(self, decoder: Decoder, impute_finished: bool) -> None:
        self._decoder = decoder
        self._impute = impute_finished
        self._zeros: Any = None
        if impute_finished:
            self._zeros = nest.map_structure(
                lambda size, dtype: cells.zeros(size, decoder.batch_size, dtype),
                decoder.output_size, decoder.output_dtype,
            )  # fmt: skip

    def arrays(self) -> Any:
        """Return empty arrays for the outputs."""
        batch = convert.constant_value(convert.convert_to_tensor(self._decoder.batch_size))

        def array(size: Any, dtype: Any) -> Any:
            sizes = [size] if isinstance(size, int) else tensor_shape.as_shape(size).as_list()
            shape = [None if batch is None else int(batch), *sizes]
            return arrays.TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

        return nest.map_structure(array, self._decoder.output_size, self._decoder.output_dtype)

    def body(
        self, time: Any, kept: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        outputs, next_state, next_inputs, is_over = self._decoder.step(time, inputs, state)
        if not self._decoder.tracks_own_finished:
            is_over = raw.LogicalOr(is_over, finished)
        now = raw.Fill(raw.Shape(lengths), math_ops.add(time, 1))
        next_lengths = gather_ops.where(finished, lengths, now)
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(inputs, next_inputs)
        if self._impute:
            outputs = nest.map_structure(
                lambda output, zero: gather_ops.where(finished, zero, output), outputs, self._zeros
            )

            def chosen(new: Any, old: Any) -> Any:
                if isinstance(old, arrays.TensorArray):
                    return new
                new.set_shape(old.shape)
                return new if new.shape.ndims == 0 else gather_ops.where(finished, old, new)

            next_state = nest.map_structure(chosen, next_state, state)
        kept = nest.map_structure(lambda array, output: array.write(time, output), kept, outputs)
        return math_ops.add(time, 1), kept, next_state, next_inputs, is_over, next_lengths


def unstacked(value: Any) -> Any:
    """Return an array of the elements of a tensor along its first axis."""
    array = arrays.TensorArray(
        value.dtype, size=array_ops.shape(value)[0], element_shape=value.shape.as_list()[1:]
    )
    return array.unstack(value)


def check_output_layer(layer: Any) -> None:
    """Raise TypeError unless `layer` is None, or a layer of `tf.layers` or `tf.keras`."""
    if layer is not None and not (callable(layer) and hasattr(layer, "compute_output_shape")):
        raise TypeError(f"output_layer must be a Layer, received: {type(layer)}")
