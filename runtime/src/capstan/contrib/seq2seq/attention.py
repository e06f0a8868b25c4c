"""Attention to a memory, and the cell that uses it.

The behaviour follows contrib/seq2seq/python/ops/attention_wrapper.py.
"""

import collections
import math
from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    counting_ops,
    creation_ops,
    gather_ops,
    init_ops,
    math_ops,
    nest,
    nn,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api import tensor_array_ops as arrays
from capstan.api.layers import core
from capstan.api.rnn import cells
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class AttentionMechanism:
    """Keys and values of a memory. A call gives the alignments of a query, and the next state.

    Steps behind the end of a sequence of `memory_sequence_length` steps get no attention.

    Raises:
        ValueError: the inner sizes of the memory are unknown.
    """

    def __init__(
        self, memory: Any, memory_layer: Any, query_layer: Any, lengths: Any,
        probability_fn: Callable[[Any], Any] | None, score_mask_value: Any,
    ) -> None:  # fmt: skip
        self.query_layer = query_layer
        self.memory_layer = memory_layer
        self._probabilities = probability_fn or nn.softmax
        self._mask_value = -math.inf if score_mask_value is None else score_mask_value
        memory = convert.convert_to_tensor(memory)
        if None in memory.shape.as_list()[2:]:
            raise ValueError(
                f"Expected memory {memory.name} to have fully defined inner dims, but saw shape: "
                f"{memory.shape}"
            )
        steps = array_ops.shape(memory)[1]
        self._mask: Any = None
        if lengths is not None:
            self._mask = counting_ops.sequence_mask(lengths, steps)
            memory = memory * raw.ExpandDims(math_ops.cast(self._mask, memory.dtype), 2)
        self.values = memory
        self.keys = memory_layer(memory)
        self.batch_size = memory.shape.as_list()[0] or array_ops.shape(memory)[0]
        self.alignments_size = memory.shape.as_list()[1] or steps

    @property
    def state_size(self) -> Any:
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return zeros: no attention."""
        alignments = creation_ops.zeros(raw.Pack([batch_size, self.alignments_size]), dtype)
        alignments.set_shape([convert.constant_value(convert.convert_to_tensor(batch_size)),
                              self.values.shape.as_list()[1]])  # fmt: skip
        return alignments

    initial_state = initial_alignments

    def _aligned(self, score: Any) -> tuple[Any, Any]:
        if self._mask is not None:
            missing = raw.Fill(raw.Shape(score), self._mask_value)
            score = gather_ops.where(self._mask, score, math_ops.cast(missing, score.dtype))
        alignments = self._probabilities(score)
        return alignments, alignments


class LuongAttention(AttentionMechanism):
    """The products of the query and the keys are the scores. `scale` multiplies them by a variable.

    Raises:
        ValueError: the query and the keys have different sizes.
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        probability_fn: Any = None, score_mask_value: Any = None, dtype: Any = None,
        name: str = "LuongAttention",
    ) -> None:  # fmt: skip
        layer = core.Dense(num_units, use_bias=False, name="memory_layer", dtype=dtype)
        super().__init__(
            memory, layer, None, memory_sequence_length, probability_fn, score_mask_value
        )
        self._scale = scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "luong_attention", [query]):
            own, other = query.shape.as_list()[-1], self.keys.shape.as_list()[-1]
            if own != other:
                raise ValueError(
                    "Incompatible or unknown inner dimensions between query and keys. Query "
                    f"({query.name}) has units: {own}. Keys ({self.keys.name}) have units: {other}."
                    f" Perhaps you need to set num_units to the keys' dimension ({own})?"
                )
            score = math_ops.matmul(raw.ExpandDims(query, 1), self.keys, transpose_b=True)
            score = raw.Squeeze(score, squeeze_dims=[1])
            if self._scale:
                factor = variable_scope.get_variable("attention_g", [], query.dtype, init_ops.Ones)
                score = score * factor
        return self._aligned(score)


class BahdanauAttention(AttentionMechanism):
    """A layer with tanh gives the scores. `normalize` gives its weights a length of their own."""

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None,
        normalize: bool = False, probability_fn: Any = None, score_mask_value: Any = None,
        dtype: Any = None, name: str = "BahdanauAttention",
    ) -> None:  # fmt: skip
        layer = core.Dense(num_units, use_bias=False, name="memory_layer", dtype=dtype)
        query_layer = core.Dense(num_units, use_bias=False, name="query_layer", dtype=dtype)
        super().__init__(
            memory, layer, query_layer, memory_sequence_length, probability_fn, score_mask_value
        )
        self._num_units = num_units
        self._normalize = normalize

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with scope_block.variable_scope(None, "bahdanau_attention", [query]):
            hidden = raw.ExpandDims(self.query_layer(query), 1) + self.keys
            size = [self._num_units]
            weights = variable_scope.get_variable("attention_v", size, query.dtype)
            if self._normalize:
                start = init_ops.Constant(math.sqrt(1.0 / self._num_units))
                length = variable_scope.get_variable("attention_g", [], query.dtype, start)
                hidden = hidden + variable_scope.get_variable(
                    "attention_b", size, query.dtype, init_ops.Zeros
                )
                squares = reduce_ops.reduce_sum(raw.Square(weights))
                weights = length * weights * raw.Rsqrt(squares)
            score = reduce_ops.reduce_sum(weights * raw.Tanh(hidden), [2])
        return self._aligned(score)


_State = collections.namedtuple(
    "_State",
    ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
)


class AttentionWrapperState(_State):
    """The state of an AttentionWrapper. `clone(cell_state=...)` replaces parts of it."""

    def clone(self, **kwargs: Any) -> "AttentionWrapperState":
        return self._replace(**kwargs)


class AttentionWrapper(cells.RNNCell):
    """A cell whose inputs are joined with the attention of the step before.

    Raises:
        TypeError: the mechanism is no AttentionMechanism.
    """

    def __init__(
        self, cell: Any, attention_mechanism: AttentionMechanism,
        attention_layer_size: int | None = None, alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None, output_attention: bool = True,
        initial_cell_state: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        if not isinstance(attention_mechanism, AttentionMechanism):
            raise TypeError(
                "attention_mechanism must be an AttentionMechanism, saw type: "
                f"{type(attention_mechanism).__name__}"
            )
        self._cell = cell
        self._mechanism = attention_mechanism
        self._attention_layer: Any = None
        self._attention_size = attention_mechanism.values.shape.as_list()[-1]
        if attention_layer_size is not None:
            self._attention_layer = core.Dense(
                attention_layer_size, use_bias=False, name="attention_layer"
            )
            self._attention_size = attention_layer_size
        self._cell_inputs = cell_input_fn or (lambda *values: array_ops.concat(list(values), -1))
        self._output_attention = output_attention
        self._initial_cell_state = initial_cell_state
        self._has_history = alignment_history

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        size = self._mechanism.alignments_size
        return AttentionWrapperState(
            self._cell.state_size, self._attention_size, tensor_shape.TensorShape([]), size,
            size if self._has_history else (), size,
        )  # fmt: skip

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        state = self._initial_cell_state
        if state is None:
            state = self._cell.zero_state(batch_size, dtype)
        alignments = self._mechanism.initial_alignments(batch_size, dtype)
        history: Any = ()
        if self._has_history:
            history = arrays.TensorArray(
                dtype, size=0, dynamic_size=True, element_shape=alignments.shape.as_list()
            )
        return AttentionWrapperState(
            nest.map_structure(raw.Identity, state),
            cells.zeros(self._attention_size, batch_size, dtypes.as_dtype(dtype)),
            convert.constant(0, dtypes.int32), alignments, history, alignments,
        )  # fmt: skip

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return the outputs and the new state of one time step.

        Raises:
            TypeError: the state is no AttentionWrapperState.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        return super().__call__(inputs, state, scope)

    def call(self, inputs: Any, state: AttentionWrapperState) -> Any:
        output, cell_state = self._cell(
            self._cell_inputs(inputs, state.attention), state.cell_state
        )
        alignments, next_state = self._mechanism(output, state.attention_state)  # type: ignore[operator]
        context = math_ops.matmul(raw.ExpandDims(alignments, 1), self._mechanism.values)
        attention = raw.Squeeze(context, squeeze_dims=[1])
        if self._attention_layer is not None:
            attention = self._attention_layer(array_ops.concat([output, attention], 1))
        history = state.alignment_history
        if self._has_history:
            history = history.write(state.time, alignments)
        return attention if self._output_attention else output, AttentionWrapperState(
            cell_state, attention, state.time + 1, alignments, history, next_state
        )
