"""`tf.layers`' convolutions (python/layers/convolutional.py)."""

from typing import Any

from capstan.api import init_ops, nn
from capstan.api.layers import base, common, input_spec, plain_arguments
from capstan.core import tensor_shape
from capstan.framework.raw import raw


def is_first(data_format: str) -> bool:
    """Return whether the channels are the first axis of an example."""
    return plain_arguments.normalize_data_format(data_format) == "channels_first"


class CommonConv(common.CommonLayer):
    """A convolution with `rank` spatial axes: 1 for sequences, 2 for images, 3 for volumes."""

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = init_ops.Zeros,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = plain_arguments.normalize_tuple(kernel_size, self.rank, "kernel_size")
        self.strides = plain_arguments.normalize_tuple(strides, self.rank, "strides")
        self.padding = str(padding).lower()
        self.data_format = data_format
        self.is_first = is_first(data_format)
        self.dilation_rate = plain_arguments.normalize_tuple(
            dilation_rate, self.rank, "dilation_rate"
        )
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2)
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def layout(self) -> str:
        return "NCHW" if self.is_first else "NHWC"

    def channels(self, input_shape: Any) -> int:
        """Return the number of channels, and require it from later inputs."""
        axis = 1 if self.is_first else -1
        size = tensor_shape.as_shape(input_shape).as_list()[axis]
        if size is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2, axes={axis: size})
        return int(size)

    def add_kernel(self, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            "kernel",
            shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )

    def add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                (self.filters,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_kernel((*self.kernel_size, self.channels(input_shape), self.filters))
        self.add_bias()
        self.built = True

    def convolved(self, inputs: Any) -> Any:
        return nn.conv2d(
            inputs,
            self.kernel,
            self.strides,
            self.padding.upper(),
            data_format=self.layout,
            dilations=self.dilation_rate,
        )

    def call(self, inputs: Any) -> Any:
        return self.finished(self.convolved(inputs))

    def finished(self, outputs: Any) -> Any:
        """Add the bias to a convolution and apply the activation."""
        if self.use_bias:
            outputs = nn.bias_add(outputs, self.bias, data_format=self.layout)
        return outputs if self.activation is None else self.activation(outputs)


class CommonConv1D(CommonConv):
    """A convolution of sequences with `filters` filters."""

    rank = 1

    def convolved(self, inputs: Any) -> Any:
        return nn.conv1d(
            inputs,
            self.kernel,
            self.strides[0],
            self.padding.upper(),
            data_format="NCW" if self.is_first else "NWC",
            dilations=self.dilation_rate[0],
        )


class CommonConvTranspose(CommonConv):
    """The transpose of a convolution: it maps the outputs of a convolution to its inputs."""

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_kernel((*self.kernel_size, self.filters, self.channels(input_shape)))
        self.add_bias()
        self.built = True

    def transposed(self, inputs: Any, output_shape: Any) -> Any:
        """Return the gradient of the convolution."""
        return nn.conv2d_transpose(
            inputs,
            self.kernel,
            output_shape,
            self.strides,
            padding=self.padding.upper(),
            data_format=self.layout,
        )

    def _length(self, size: Any, axis: int) -> Any:
        stride, width = self.strides[axis], self.kernel_size[axis]
        if size is None:
            return None
        return size * stride + (0 if self.padding == "same" else max(width - stride, 0))

    def convolved(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()
        first = 2 if self.is_first else 1
        shape: list[Any] = [sizes[0], *[None] * (self.rank + 1)]
        for at in range(self.rank):
            shape[first + at] = self._length(sizes[first + at], at)
        shape[1 if self.is_first else -1] = self.filters
        known = list(shape)
        dynamic = raw.Unpack(raw.Shape(inputs), num=self.rank + 2) if None in shape else []
        for at in range(self.rank):
            if shape[first + at] is None:
                shape[first + at] = self._length(dynamic[first + at], at)
        if shape[0] is None:
            shape[0] = dynamic[0]
        outputs = self.transposed(inputs, raw.Pack(shape) if dynamic else shape)
        outputs.set_shape(known)
        return outputs


class Conv1D(CommonConv1D, base.Layer):
    """A convolution of sequences with `filters` filters."""


class Conv2D(CommonConv, base.Layer):
    """A convolution of images with `filters` filters."""


class ConvTranspose(CommonConvTranspose, base.Layer):
    """The transpose of a convolution. It has no `dilation_rate`."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Make a layer. The other arguments are those of a convolution, from `activation` on."""
        rate = kwargs.pop("dilation_rate", 1)  # A configuration has it, too.
        super().__init__(filters, kernel_size, strides, padding, data_format, rate, *args, **kwargs)


class Conv2DTranspose(ConvTranspose):
    """The transpose of a convolution: it maps the outputs of a convolution to images."""
