"""`attention_decoder` (contrib/legacy_seq2seq/python/ops/seq2seq.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, nest, nn, reduce_ops, scope_block, variable_scope
from capstan.contrib.rnn_wrappers import linear
from capstan.framework.raw import raw


class _Heads:
    """The attention of several heads to a memory [batch, time, size]."""

    def __init__(self, memory: Any, count: int) -> None:
        self._size = memory.shape.as_list()[2]
        if self._size is None:
            raise ValueError(f"Shape[2] of attention_states must be known: {memory.shape}")
        self._memory = memory
        length = memory.shape.as_list()[1] or array_ops.shape(memory)[1]
        images = raw.Reshape(memory, raw.Pack([-1, length, 1, self._size]))
        self._features, self._weights = [], []
        dtype = memory.dtype.base_dtype
        for head in range(count):
            shape = [1, 1, self._size, self._size]
            kernel = variable_scope.get_variable(f"AttnW_{head}", shape, dtype)
            features = nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME")
            self._features.append(raw.Reshape(features, raw.Shape(memory)))
            self._weights.append(variable_scope.get_variable(f"AttnV_{head}", [self._size], dtype))

    def zeros(self, batch: Any) -> list[Any]:
        """Return the attention before the first step."""
        dtype = self._memory.dtype.base_dtype
        empty = creation_ops.zeros(raw.Pack([batch, self._size]), dtype)
        empty.set_shape([None, self._size])
        return [empty] * len(self._weights)

    def __call__(self, query: Any) -> list[Any]:
        """Return the attention of each head to a state."""
        found = []
        parts = nest.flatten(query)
        for head, (features, weights) in enumerate(zip(self._features, self._weights, strict=True)):
            with scope_block.variable_scope(f"Attention_{head}"):
                hidden = raw.ExpandDims(linear(parts, self._size), 1)
                score = reduce_ops.reduce_sum(weights * raw.Tanh(features + hidden), [2])
                shares = raw.ExpandDims(nn.softmax(score), 2)
                found.append(reduce_ops.reduce_sum(shares * self._memory, [1]))
        return found


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell with attention to a memory [batch, time, size].

    From the second step on, `loop_function(output, step)` replaces the input, if it is given.

    Raises:
        ValueError: there are no inputs or no heads, or the size of the memory is unknown.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = cell.output_size if output_size is None else output_size
    with scope_block.variable_scope(scope or "attention_decoder", dtype=dtype):
        attend = _Heads(attention_states, num_heads)
        state = initial_state
        outputs: list[Any] = []
        attention = attend.zeros(array_ops.shape(decoder_inputs[0])[0])
        if initial_state_attention:
            attention = attend(initial_state)
        for number, given in enumerate(decoder_inputs):
            inputs = given
            current = variable_scope.get_variable_scope()
            if number > 0:
                current.reuse_variables()
            if loop_function is not None and outputs:
                with scope_block.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], number)
            joined = linear([inputs, *attention], inputs.shape.as_list()[1])
            cell_output, state = cell(joined, state)
            is_known = number == 0 and initial_state_attention
            with scope_block.variable_scope(current, reuse=True if is_known else None):
                attention = attend(state)
            with scope_block.variable_scope("AttnOutputProjection"):
                outputs.append(linear([cell_output, *attention], size))
        return outputs, state
