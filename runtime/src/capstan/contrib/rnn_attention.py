"""A cell that attends to its own past outputs (contrib/rnn/python/ops/rnn_cell.py)."""

from typing import Any

from capstan.api import array_ops, math_ops, nn, reduce_ops, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib.rnn_wrappers import linear
from capstan.framework import nest
from capstan.framework.raw import raw


class AttentionCellWrapper(cells.RNNCell):
    """A cell that attends to its last `attn_length` outputs (Cheng et al., 2016).

    The inputs of `cell` are a linear layer of the inputs, of width `input_size`, and of the last
    attention. The outputs have the width `attn_size`, which is the output size of `cell` if it is
    not given. `attn_vec_size` is the width of the layer that compares a state with an output, and
    `attn_size` if it is not given. The state is (the state of `cell`, the attention, the outputs),
    or these side by side in one tensor if `state_is_tuple` is false.

    Raises:
        ValueError: `attn_length` is not positive, or `cell` has a tuple of states and
            `state_is_tuple` is false.
    """

    def __init__(
        self, cell: Any, attn_length: int, attn_size: int | None = None,
        attn_vec_size: int | None = None, input_size: int | None = None,
        state_is_tuple: bool = True, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        if isinstance(cell.state_size, list | tuple) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell = cell
        self._length = attn_length
        self._size = cell.output_size if attn_size is None else attn_size
        self._vector_size = self._size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = self._cell.state_size, self._size, self._size * self._length
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            sizes = [self._cell.state_size, self._size, self._size * self._length]
            state = array_ops.split(state, sizes, 1)
        inner_state, attention, flat_outputs = state
        outputs = array_ops.reshape(flat_outputs, [-1, self._length, self._size])
        width = self._input_size or inputs.shape.as_list()[1]
        output, inner_state = self._cell(linear([inputs, attention], width), inner_state)
        attention = self._attention(array_ops.concat(nest.flatten(inner_state), 1), outputs)
        with scope_block.variable_scope("attn_output_projection"):
            output = linear([output, attention], self._size)
        later = raw.ConcatV2([outputs[:, 1:], array_ops.expand_dims(output, 1)], 1)
        flat_outputs = array_ops.reshape(later, [-1, self._size * self._length])
        new_state = inner_state, attention, flat_outputs
        return output, new_state if self._state_is_tuple else raw.ConcatV2(list(new_state), 1)

    def _attention(self, query: Any, outputs: Any) -> Any:
        """Return the mean of the outputs, each weighted by its likeness to the query."""
        with scope_block.variable_scope("attention"):
            shape = [1, 1, self._size, self._vector_size]
            weights = variable_scope.get_variable("attn_w", shape)
            vector = variable_scope.get_variable("attn_v", [self._vector_size])
            hidden = array_ops.reshape(outputs, [-1, self._length, 1, self._size])
            features = nn.conv2d(hidden, weights, [1, 1, 1, 1], "SAME")
            shifts = array_ops.reshape(
                linear([query], self._vector_size), [-1, 1, 1, self._vector_size]
            )
            scores = reduce_ops.reduce_sum(vector * math_ops.tanh(features + shifts), [2, 3])
            shares = array_ops.reshape(nn.softmax(scores), [-1, self._length, 1, 1])
            return array_ops.reshape(
                reduce_ops.reduce_sum(shares * hidden, [1, 2]), [-1, self._size]
            )
