"""Recurrent cells with other gates than LSTM and GRU (contrib/rnn/python/ops/rnn_cell.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib.rnn_wrappers import linear
from capstan.framework.raw import raw


class _GatedCell(cells.RNNCell):
    """A cell whose weights come from one linear layer of the inputs and the state."""

    def __init__(self, num_units: int, initializer: Any, forget_bias: float, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _gate(self, value: Any) -> Any:
        return math_ops.sigmoid(value + self._forget_bias)

    def _checked_size(self, inputs: Any) -> int:
        size = inputs.shape.with_rank(2).as_list()[1]
        if size is None:
            raise ValueError(
                "Could not infer input size from inputs.get_shape()[-1]. Set the shape of the "
                "inputs"
            )
        return int(size)


class UGRNNCell(_GatedCell):
    """The update gate cell of Collins et al., 2016: a gate mixes the state and a candidate.

    `forget_bias` is added to the gate. A call raises ValueError if the size of the inputs is
    unknown.
    """

    def __init__(
        self, num_units: int, initializer: Any = None, forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = math_ops.tanh, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> Any:
        self._checked_size(inputs)
        scope = variable_scope.get_variable_scope()
        with scope_block.variable_scope(scope, initializer=self._initializer):
            gate, candidate = array_ops.split(linear([inputs, state], 2 * self._num_units), 2, 1)
        kept = self._gate(gate)
        new_state = kept * state + (1.0 - kept) * self._activation(candidate)
        return new_state, new_state


class IntersectionRNNCell(_GatedCell):
    """The intersection cell of Collins et al., 2016, for networks of several layers.

    One gate mixes the state and a candidate, and another one mixes the inputs and the outputs. The
    inputs must have the size `num_units`. With `num_in_proj`, inputs of another size go through a
    linear layer. A call raises ValueError if the size of the inputs is unknown or does not fit.
    """

    def __init__(
        self, num_units: int, num_in_proj: int | None = None, initializer: Any = None,
        forget_bias: float = 1.0, y_activation: Callable[[Any], Any] = nn.relu, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._num_in_proj = num_in_proj
        self._y_activation = y_activation

    def call(self, inputs: Any, state: Any) -> Any:
        size, scope = self._checked_size(inputs), variable_scope.get_variable_scope()
        with scope_block.variable_scope(scope, initializer=self._initializer):
            if size != self._num_units:
                if not self._num_in_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, "
                        "num_in_proj should be set to num_units at cell init."
                    )
                with scope_block.variable_scope("in_projection"):
                    inputs = linear([inputs], self._num_units)
            parts = array_ops.split(linear([inputs, state], 4 * self._num_units), 4, 1)
        kept, candidate, passed, output = parts
        kept, passed = self._gate(kept), self._gate(passed)
        new_state = kept * state + (1.0 - kept) * math_ops.tanh(candidate)
        return passed * inputs + (1.0 - passed) * self._y_activation(output), new_state


class SRUCell(cells._UnitCell):
    """The simple recurrent unit of Lei et al., 2017, whose gates do not depend on the state.

    A gate mixes the activation of the state with a product of the inputs.
    """

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_weight("kernel", [self.depth(inputs_shape), 4 * units])
        self._bias = self.add_weight("bias", [2 * units], initializer=init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        products = array_ops.split(raw.MatMul(inputs, self._kernel), 4, 1)
        candidate, forget, reset, passed = products
        gates = nn.bias_add(array_ops.concat([forget, reset], 1), self._bias)
        forget, reset = array_ops.split(math_ops.sigmoid(gates), 2, 1)
        memory = forget * state + (1.0 - forget) * candidate
        return reset * self._activation(memory) + (1.0 - reset) * passed, memory


class _IndependentCell(cells._UnitCell):
    """A cell whose units see only their own states (Li et al., 2018)."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None,
        kernel_initializer: Any = None, bias_initializer: Any = None, name: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def _layer(self, names: tuple[str, str, str], inputs_shape: Any, parts: int, start: Any) -> Any:
        """Return the weights of the inputs, those of the state, and the biases."""
        columns = parts * self._num_units
        return (
            self.add_weight(
                names[0], [self.depth(inputs_shape), columns], initializer=self._kernel_initializer
            ),
            self.add_weight(names[1], [1, columns], initializer=init_ops.RandomUniform(-1, 1)),
            self.add_weight(names[2], [columns], initializer=self._bias_initializer or start),
        )

    def _sum(self, inputs: Any, state: Any, layer: Any) -> Any:
        of_inputs, of_state, bias = layer
        repeats = of_state.shape.as_list()[1] // self._num_units
        wide = state if repeats == 1 else raw.Tile(state, [1, repeats])
        return nn.bias_add(raw.MatMul(inputs, of_inputs) + wide * of_state, bias)


class IndRNNCell(_IndependentCell):
    """The simplest cell of independent units: output = activation(W * inputs + u * state + b)."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, inputs_shape: Any) -> None:
        names = "kernel_w", "kernel_u", "bias"
        self._weights = self._layer(names, inputs_shape, 1, init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        output = self._activation(self._sum(inputs, state, self._weights))
        return output, output


class IndyGRUCell(_IndependentCell):
    """A GRU cell of independent units."""

    def build(self, inputs_shape: Any) -> None:
        names = "gates/kernel_w", "gates/kernel_u", "gates/bias"
        self._gates = self._layer(names, inputs_shape, 2, init_ops.Constant(1.0))
        names = "candidate/kernel", "candidate/kernel_u", "candidate/bias"
        self._candidate = self._layer(names, inputs_shape, 1, init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = math_ops.sigmoid(self._sum(inputs, state, self._gates))
        reset, update = array_ops.split(gates, 2, 1)
        candidate = self._activation(self._sum(inputs, reset * state, self._candidate))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


class IndyLSTMCell(_IndependentCell):
    """An LSTM cell of independent units. `forget_bias` is added to the forget gate."""

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, activation: Any = None, reuse: Any = None,
        kernel_initializer: Any = None, bias_initializer: Any = None, name: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype
        )
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        names = "kernel_w", "kernel_u", "bias"
        self._weights = self._layer(names, inputs_shape, 4, init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state
        gates = array_ops.split(self._sum(inputs, output, self._weights), 4, 1)
        enter, new, forget, leave = gates
        kept = memory * math_ops.sigmoid(forget + self._forget_bias)
        memory = kept + math_ops.sigmoid(enter) * self._activation(new)
        output = self._activation(memory) * math_ops.sigmoid(leave)
        return output, cells.LSTMStateTuple(memory, output)
