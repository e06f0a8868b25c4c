"""LSTM cells whose products are convolutions (contrib/rnn/python/ops/rnn_cell.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn, variable_scope
from capstan.api.rnn import cells
from capstan.core import tensor_shape


class ConvLSTMCell(cells.RNNCell):
    """The convolutional LSTM cell of Shi et al., 2015.

    The inputs of a step have the shape `input_shape`: the sizes of `conv_ndims` axes (1, 2 or 3)
    and the channels. The outputs and the states have `output_channels` channels. With
    `skip_connection`, the outputs also have the channels of the inputs. The variables are `kernel`
    and, with `use_bias`, `biases`. `initializers` has no effect.

    Raises:
        ValueError: `input_shape` has another number of axes.
    """

    def __init__(
        self, conv_ndims: int, input_shape: Sequence[int], output_channels: int,
        kernel_shape: Sequence[int], use_bias: bool = True, skip_connection: bool = False,
        forget_bias: float = 1.0, initializers: Any = None, name: str = "conv_lstm_cell",
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._convolution = (nn.conv1d, nn.conv2d, nn.conv3d)[conv_ndims - 1]
        self._strides: Any = 1 if conv_ndims == 1 else [1] * (conv_ndims + 2)
        self._axes = list(input_shape[:-1])
        self._channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._skip_connection = skip_connection
        self._forget_bias = forget_bias
        self._output_channels = output_channels + (input_shape[-1] if skip_connection else 0)

    @property
    def output_size(self) -> Any:
        return tensor_shape.TensorShape([*self._axes, self._output_channels])

    @property
    def state_size(self) -> Any:
        size = tensor_shape.TensorShape([*self._axes, self._channels])
        return cells.LSTMStateTuple(size, size)

    def _products(self, inputs: Any, output: Any) -> Any:
        joined, columns = array_ops.concat([inputs, output], -1), 4 * self._channels
        sizes = [*self._kernel_shape, joined.shape.as_list()[-1], columns]
        kernel = variable_scope.get_variable("kernel", sizes, joined.dtype)
        products = self._convolution(joined, kernel, self._strides, padding="SAME")
        if not self._use_bias:
            return products
        return products + variable_scope.get_variable(
            "biases", [columns], joined.dtype, init_ops.Zeros
        )

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state
        products = array_ops.split(self._products(inputs, output), 4, -1)
        enter, new, forget, leave = products
        kept = math_ops.sigmoid(forget + self._forget_bias) * memory
        memory = kept + math_ops.sigmoid(enter) * math_ops.tanh(new)
        output = math_ops.tanh(memory) * math_ops.sigmoid(leave)
        new_state = cells.LSTMStateTuple(memory, output)
        if self._skip_connection:
            output = array_ops.concat([output, inputs], -1)
        return output, new_state


class Conv1DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over one axis. It takes the other arguments of ConvLSTMCell by name."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over two axes. It takes the other arguments of ConvLSTMCell by name."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over three axes. It takes the other arguments of ConvLSTMCell by name."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
