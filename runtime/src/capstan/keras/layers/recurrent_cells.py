"""The cells of `tf.keras.layers`: simple, GRU and LSTM (python/keras/layers/recurrent.py)."""

from typing import Any

from capstan.api import array_ops
from capstan.framework.raw import raw
from capstan.keras import built_in, initializers
from capstan.keras.layers.units_cell import UnitsCell, biased, products


class SimpleRNNCell(UnitsCell):
    """A cell whose output and new state is activation(inputs * W + state * U + b)."""

    activation: Any

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(built_in.resolved({**locals(), "kwargs": {}}), kwargs)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output [batch, units] and the new states, a list of one tensor."""
        (state,) = states
        masks, state_masks = self._masks_for(inputs, state, training)
        (given,) = biased(products(inputs, masks, self.kernel, 1), self.bias)
        (kept,) = products(state, state_masks, self.recurrent_kernel, 1)
        output = self.activation(given + kept)
        return output, [output]


class GRUCell(UnitsCell):
    """The cell of a gated recurrent unit.

    With `reset_after`, the reset gate multiplies the product of the state and its kernel, as in
    cuDNN, and the bias is [2, 3 * units]: a bias for the inputs, and one for the state.
    """

    gates = 3
    activation: Any
    recurrent_activation: Any
    reset_after: bool

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(built_in.resolved({**locals(), "kwargs": {}}), kwargs)

    def _bias_shape(self) -> tuple[int, ...]:
        width = self.gates * self.units
        return (2, width) if self.reset_after else (width,)

    def _biases(self) -> tuple[Any, Any]:
        """Return the bias of the inputs and that of the state, which may be None."""
        if self.reset_after and self.use_bias:
            of_inputs, of_state = array_ops.unstack(self.bias)
            return of_inputs, of_state
        return self.bias, None

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output [batch, units] and the new states, a list of one tensor."""
        (state,) = states
        masks, state_masks = self._masks_for(inputs, state, training)
        bias, state_bias = self._biases()
        update, reset, new = biased(products(inputs, masks, self.kernel, 3), bias)
        if self.reset_after:
            kept = biased(products(state, state_masks, self.recurrent_kernel, 3), state_bias)
            reset = self.recurrent_activation(reset + kept[1])
            new = self.activation(new + reset * kept[2])
        else:
            gates, last = array_ops.split(self.recurrent_kernel, [2 * self.units, self.units], 1)
            several = state_masks is not None and len(state_masks) > 1
            kept = products(state, state_masks[:2] if several else state_masks, gates, 2)
            reset = self.recurrent_activation(reset + kept[1])
            masked = state if state_masks is None else state * state_masks[-1]
            new = self.activation(new + raw.MatMul(reset * masked, last))
        update = self.recurrent_activation(update + kept[0])
        output = update * state + (1 - update) * new
        return output, [output]


class LSTMCell(UnitsCell):
    """The cell of a long short-term memory. Its states are the output and the memory.

    With `unit_forget_bias`, the bias of the forget gate begins with 1.
    """

    gates = 4
    activation: Any
    recurrent_activation: Any
    unit_forget_bias: bool

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(built_in.resolved({**locals(), "kwargs": {}}), kwargs)

    @property
    def state_size(self) -> Any:
        return [self.units, self.units]

    def _initializer(self, kind: str) -> Any:
        chosen = super()._initializer(kind)
        if kind != "bias" or not self.unit_forget_bias:
            return chosen
        ones, units = initializers.Ones(), self.units

        def joined(shape: Any, dtype: Any = None) -> Any:
            parts = [(chosen, units), (ones, units), (chosen, 2 * units)]
            return raw.ConcatV2([make([size], dtype=dtype) for make, size in parts], 0)

        return joined

    def _bias_of_gates(self) -> Any:
        """Return the bias [4 * units], or None."""
        return self.bias

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output [batch, units] and the new states: the output and the memory."""
        state, memory = states
        masks, state_masks = self._masks_for(inputs, state, training)
        given = biased(products(inputs, masks, self.kernel, 4), self._bias_of_gates())
        kept = products(state, state_masks, self.recurrent_kernel, 4)
        gates = [one + two for one, two in zip(given, kept, strict=True)]
        memory, leave = self._next(gates, memory)
        output = leave * self.activation(memory)
        return output, [output, memory]

    def _next(self, gates: list[Any], memory: Any) -> tuple[Any, Any]:
        """Return the new memory, and the part of it that leaves the cell."""
        enter, forget, new, leave = gates
        memory = self.recurrent_activation(forget) * memory + self.recurrent_activation(
            enter
        ) * self.activation(new)
        return memory, self.recurrent_activation(leave)


class PeepholeLSTMCell(LSTMCell):
    """The cell of a long short-term memory whose gates also see the memory.

    Each gate has a weight for each unit of the memory. The last gate sees the new memory.
    """

    input_gate_peephole_weights: Any
    forget_gate_peephole_weights: Any
    output_gate_peephole_weights: Any

    def build(self, input_shape: Any) -> None:
        """Create the kernels, the bias, and the weights of the memory."""
        super().build(input_shape)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            weights = self.add_weight(name, (self.units,), initializer=self._initializer("kernel"))
            setattr(self, name, weights)

    def _next(self, gates: list[Any], memory: Any) -> tuple[Any, Any]:
        enter, forget, new, leave = gates
        entering = self.recurrent_activation(enter + self.input_gate_peephole_weights * memory)
        kept = self.recurrent_activation(forget + self.forget_gate_peephole_weights * memory)
        memory = kept * memory + entering * self.activation(new)
        leaving = self.recurrent_activation(leave + self.output_gate_peephole_weights * memory)
        return memory, leaving
