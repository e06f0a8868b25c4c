"""Recurrent cells that only contrib has (contrib/rnn/python/ops/rnn_cell.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib.layers import norms
from capstan.framework.raw import raw


def layer_normed(value: Any, scope: str, gain: float, shift: float) -> Any:
    """Return normalized rows, times the variable `gamma` and plus `beta` of `scope`.

    The variables begin at `gain` and `shift`.
    """
    sizes, dtype = value.shape.as_list()[-1:], value.dtype.base_dtype
    with scope_block.variable_scope(scope):
        for name, start in (("gamma", gain), ("beta", shift)):
            variable_scope.get_variable(name, sizes, dtype, init_ops.Constant(start))
    return norms.layer_norm(value, reuse=True, scope=scope)


class LayerNormBasicLSTMCell(cells.RNNCell):
    """An LSTM cell that normalizes its gates and its memory, and drops parts of its new memory.

    `norm_gain` and `norm_shift` are the first values of the variables `gamma` and `beta` of each
    norm. Without `layer_norm`, the gates have the variable `bias` instead. The new memory is kept
    with the probability `dropout_keep_prob`, a float or a scalar tensor.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[[Any], Any] = math_ops.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._has_norms = layer_norm
        self._gain = norm_gain
        self._shift = norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _norm(self, value: Any, scope: str) -> Any:
        if not self._has_norms:
            return value
        return layer_normed(value, scope, self._gain, self._shift)

    def _gates(self, inputs: Any, output: Any) -> Any:
        joined = array_ops.concat([inputs, output], 1)
        rows, columns, dtype = joined.shape.as_list()[1], 4 * self._num_units, joined.dtype
        kernel = variable_scope.get_variable("kernel", [rows, columns], dtype)
        gates = raw.MatMul(joined, kernel)
        if self._has_norms:
            return gates
        return nn.bias_add(gates, variable_scope.get_variable("bias", [columns], dtype))

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state
        enter, new, forget, leave = (
            self._norm(value, scope)
            for value, scope in zip(
                array_ops.split(self._gates(inputs, output), 4, 1),
                ("input", "transform", "forget", "output"),
                strict=True,
            )
        )
        new = self._activation(new)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = nn.dropout(new, self._keep_prob, seed=self._seed)
        kept = memory * math_ops.sigmoid(forget + self._forget_bias)
        memory = self._norm(kept + math_ops.sigmoid(enter) * new, "state")
        output = self._activation(memory) * math_ops.sigmoid(leave)
        return output, cells.LSTMStateTuple(memory, output)


class NASCell(cells.RNNCell):
    """The cell that a search for architectures found (Zoph and Le, 2017).

    With `num_proj`, the outputs go through the matrix `projection_weights` of this width. With
    `use_biases`, the products of the state have a bias. A call raises ValueError if the size of
    the inputs is unknown.
    """

    def __init__(
        self, num_units: int, num_proj: int | None = None, use_biases: bool = False,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_biases = use_biases

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._num_units, self.output_size)

    def _products(self, inputs: Any, output: Any) -> tuple[Any, Any]:
        """Return the eight parts of the products of the inputs, and those of the state."""
        size = None if inputs.shape.ndims is None else inputs.shape.as_list()[1]
        if size is None:
            raise ValueError(
                "Could not infer input size from inputs.get_shape()[-1]. Set the shape of the "
                "inputs"
            )
        columns, dtype = 8 * self._num_units, inputs.dtype
        of_state = variable_scope.get_variable(
            "recurrent_kernel", [self.output_size, columns], dtype
        )
        of_inputs = variable_scope.get_variable("kernel", [size, columns], dtype)
        products = raw.MatMul(output, of_state)
        if self._use_biases:
            bias = variable_scope.get_variable("bias", [columns], dtype, init_ops.Zeros)
            products = nn.bias_add(products, bias)
        return array_ops.split(raw.MatMul(inputs, of_inputs), 8, 1), array_ops.split(products, 8, 1)

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state
        x, m = self._products(inputs, output)
        tanh, sigmoid = math_ops.tanh, math_ops.sigmoid
        gated = tanh(sigmoid(x[0] + m[0]) * nn.relu(x[1] + m[1]))
        mixed = tanh(sigmoid(x[2] + m[2]) + nn.relu(x[3] * m[3]))
        third = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        fourth = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        memory = tanh(gated + memory) * mixed
        output = tanh(memory * tanh(third + fourth))
        if self._num_proj is not None:
            projection = variable_scope.get_variable(
                "projection_weights", [self._num_units, self._num_proj], inputs.dtype
            )
            output = raw.MatMul(output, projection)
        return output, cells.LSTMStateTuple(memory, output)
