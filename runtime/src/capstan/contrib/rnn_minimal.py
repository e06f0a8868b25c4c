"""Recurrent cells of few gates: `MinimalRNNCell` and `CFNCell`.

Source: contrib/rnn/python/ops/rnn_cell.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, math_ops, nn
from capstan.api.layers import input_spec
from capstan.api.rnn import cells
from capstan.core import tensor_shape
from capstan.keras import activations, initializers


class _Cell(cells.RNNCell):
    """A cell whose state is its output. Names of Keras stand for functions and initializers."""

    def __init__(
        self,
        units: int,
        activation: str | Callable[[Any], Any] = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self.units = units
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)

    @property
    def state_size(self) -> Any:
        return self.units

    @property
    def output_size(self) -> Any:
        return self.units

    def _weight(self, name: str, shape: list[int]) -> Any:
        chosen = self.bias_initializer if name == "bias" else self.kernel_initializer
        return self.add_weight(name=name, shape=shape, initializer=chosen)


def _size(inputs_shape: Any) -> int:
    size = tensor_shape.dimension_value(inputs_shape[-1])
    if size is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return int(size)


class MinimalRNNCell(_Cell):
    """The cell of Chen, 2017: an update gate mixes the state and a map of the inputs.

    A call raises ValueError if the size of the inputs is unknown.
    """

    def build(self, inputs_shape: Any) -> None:
        size = _size(inputs_shape)
        self.kernel = self._weight("kernel", [size + 2 * self.units, self.units])
        self.bias = self._weight("bias", [self.units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        sizes = [_size(inputs.shape), 2 * self.units]
        forward, gate = array_ops.split(self.kernel, sizes, 0)
        mapped = self.activation(math_ops.matmul(inputs, forward))
        both = math_ops.matmul(array_ops.concat([mapped, state], 1), gate)
        update = math_ops.sigmoid(nn.bias_add(both, self.bias))
        new_state = update * state + (1 - update) * mapped
        return new_state, new_state


class CFNCell(_Cell):
    """The chaos free network of Laurent and Brecht, 2017: a forget gate and an input gate.

    As in TensorFlow, a gate near 1 closes the inputs. A call raises ValueError if the size of the
    inputs is unknown.
    """

    def build(self, inputs_shape: Any) -> None:
        self.kernel = self._weight("kernel", [_size(inputs_shape), 3 * self.units])
        self.recurrent_kernel = self._weight("recurrent_kernel", [self.units, 2 * self.units])
        self.bias = self._weight("bias", [2 * self.units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        into_gates, into_state = array_ops.split(self.kernel, [2 * self.units, self.units], 1)
        gates = math_ops.matmul(state, self.recurrent_kernel) + math_ops.matmul(inputs, into_gates)
        gates = math_ops.sigmoid(nn.bias_add(gates, self.bias))
        forget, close = array_ops.split(gates, 2, 1)
        candidate = self.activation(math_ops.matmul(inputs, into_state))
        new_state = forget * self.activation(state) + (1 - close) * candidate
        return new_state, new_state
