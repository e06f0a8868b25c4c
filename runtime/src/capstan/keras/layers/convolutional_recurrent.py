"""`tf.keras.layers.ConvLSTM2D` (python/keras/layers/convolutional_recurrent.py)."""

from typing import Any

from capstan.api import array_ops, creation_ops, nn
from capstan.api.layers import input_spec, plain_arguments, settings
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.keras import built_in
from capstan.keras.layers import recurrent, recurrent_cells


class ConvLSTM2DCell(recurrent_cells.LSTMCell):
    """The cell of a long short-term memory whose products are convolutions of images."""

    implementation = 1  # Each gate has zeros of dropout of its own.

    filters: int
    kernel_size: Any
    strides: Any
    padding: str
    data_format: str
    dilation_rate: Any

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
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
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if the padding or the data format is unknown, or a size is wrong."""
        given = built_in.resolved({**locals(), "kwargs": {}})
        for name in ("kernel_size", "strides", "dilation_rate"):
            given[name] = plain_arguments.normalize_tuple(given[name], 2, name)
        given["padding"] = padding.lower()
        if given["padding"] not in ("valid", "same"):
            raise ValueError(f"The `padding` argument must be valid or same. Received: {padding}")
        given["data_format"] = settings.data_format(data_format)
        super(recurrent_cells.LSTMCell, self).__init__(given, kwargs)

    @property
    def units(self) -> int:  # type: ignore[override]
        return int(self.filters)

    def build(self, input_shape: Any) -> None:
        """Create the kernels and the bias for images.

        Raises:
            ValueError: the number of channels is unknown.
        """
        axis = 1 if self.is_first else -1
        depth = tensor_shape.as_shape(input_shape).as_list()[axis]
        if depth is None:
            raise ValueError(
                f"The channel dimension of the inputs of {self.name} should be defined. Found "
                "`None`. Call set_shape on the inputs"
            )
        width = self.gates * self.filters
        self.kernel = self._weight("kernel", "kernel", (*self.kernel_size, depth, width))
        inner = (*self.kernel_size, self.filters, width)
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", inner)
        if self.use_bias:
            self.bias = self._weight("bias", "bias", (width,))
        self.built = True

    @property
    def is_first(self) -> bool:
        return bool(self.data_format == "channels_first")

    def convolved(self, images: Any, kernel: Any, bias: Any = None) -> Any:
        """Return the convolution of inputs, with the strides and the padding of the cell."""
        given = (kernel, self.strides, self.padding, self.dilation_rate)
        made = _convolution(images, *given, self._layout)
        return made if bias is None else nn.bias_add(made, bias, data_format=self._layout)

    @property
    def _layout(self) -> str:
        return "NCHW" if self.is_first else "NHWC"

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output, images with `filters` channels, and the output and the memory."""
        state, memory = states
        masks, state_masks = self._masks_for(inputs, state, training)
        kernels = array_ops.split(self.kernel, 4, 3)
        inner = array_ops.split(self.recurrent_kernel, 4, 3)
        biases = array_ops.split(self.bias, 4, 0) if self.use_bias else [None] * 4
        gates = []
        for at in range(4):
            given = inputs if masks is None else inputs * masks[at]
            kept = state if state_masks is None else state * state_masks[at]
            gates.append(
                self.convolved(given, kernels[at], biases[at])
                + _convolution(kept, inner[at], (1, 1), "same", (1, 1), self._layout)
            )
        enter, forget, new, leave = gates
        memory = self.recurrent_activation(forget) * memory + self.recurrent_activation(
            enter
        ) * self.activation(new)
        output = self.recurrent_activation(leave) * self.activation(memory)
        return output, [output, memory]


def _convolution(
    images: Any, kernel: Any, strides: Any, padding: str, rates: Any, layout: str
) -> Any:
    return nn.conv2d(images, kernel, strides, padding.upper(), data_format=layout, dilations=rates)


class ConvLSTM2D(recurrent.UnitsLayer):
    """A long short-term memory of images [batch, time, rows, columns, channels].

    Convolutions take the place of products. The states are images with `filters` channels.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
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
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        return_sequences: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        """Raises TypeError for `unroll`."""
        if kwargs.pop("unroll", False):
            raise TypeError("Unrolling isn't possible with convolutional RNNs. Omit `unroll`")
        given = {**locals(), "return_state": kwargs.pop("return_state", False), "unroll": False}
        super().__init__(ConvLSTM2DCell, given, kwargs)
        self.input_spec = [input_spec.InputSpec(ndim=5)]

    def build(self, input_shape: Any) -> None:
        """Create the variables of the cell, and those of the states if the layer is stateful.

        Raises:
            ValueError: the layer is stateful, and the size of a batch or of an image is unknown.
        """
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        self._images = [None, *tensor_shape.as_shape(shape).as_list()[2:]]
        super().build(input_shape)

    def _state_sizes(self) -> Any:
        with graphs.Graph().as_default():
            images = creation_ops.placeholder(self._dtype, [1, 1, *self._images[1:]])
            sizes = self.get_initial_state(images)[0].shape.as_list()[1:]
        if None in sizes:
            raise ValueError(
                f"Layer {self.name}: a stateful layer needs to know the rows and columns of its "
                "images. Use tf.keras.Input(batch_shape=...)"
            )
        return [tensor_shape.TensorShape(sizes)] * 2

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Return the states with which a batch of these inputs begins: zeros."""
        depth = self._images[1 if self.cell.is_first else -1]
        kernel = creation_ops.zeros(
            [*self.cell.kernel_size, depth, self.cell.filters], inputs.dtype
        )
        zeros = self.cell.convolved(creation_ops.zeros_like(inputs[:, 0]), kernel)
        return [zeros, zeros]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, or a list with the shapes of the states behind it."""
        return built_in.BuiltIn.compute_output_shape(self, input_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        return {**super().get_config(), "return_state": self.return_state, "unroll": False}
