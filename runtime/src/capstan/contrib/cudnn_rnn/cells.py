"""Cells with the formulas of cuDNN (contrib/cudnn_rnn/python/ops/cudnn_rnn_ops.py)."""

from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn
from capstan.api.rnn import cells
from capstan.contrib import rnn_blocks
from capstan.framework.raw import raw


class CudnnCompatibleLSTMCell(rnn_blocks.LSTMBlockCell):
    """The cell of `CudnnLSTM`: an LSTM cell that adds nothing to its forget gate."""

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(cells.GRUCell):
    """The cell of `CudnnGRU`. The reset gate takes a part of the state's product, not of the state.

    The product of the state has a bias of its own.
    """

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, None, reuse, kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        units, depth, start = self._num_units, self.depth(inputs_shape), self._kernel_initializer
        ones, zeros = init_ops.Constant(1.0), init_ops.Zeros
        self._gates = self.weights_of("gates/", depth + units, 2 * units, start, ones)
        self._of_inputs = self.weights_of("candidate/input_projection/", depth, units, start, zeros)
        self._of_state = self.weights_of("candidate/hidden_projection/", units, units, start, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = math_ops.sigmoid(_product(array_ops.concat([inputs, state], 1), self._gates))
        reset, update = array_ops.split(gates, 2, 1)
        of_inputs, of_state = _product(inputs, self._of_inputs), _product(state, self._of_state)
        candidate = self._activation(of_inputs + reset * of_state)
        new_state = (1 - update) * candidate + update * state
        return new_state, new_state


def _product(values: Any, weights: tuple[Any, Any]) -> Any:
    kernel, bias = weights
    return nn.bias_add(raw.MatMul(values, kernel), bias)
