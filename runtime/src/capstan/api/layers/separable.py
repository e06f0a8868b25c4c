"""`tf.layers`' separable convolutions (python/layers/convolutional.py).

A separable convolution is a convolution of each channel by itself, and then a convolution with
filters of one pixel, which mixes the channels.
"""

from typing import Any

from capstan.api import array_ops, init_ops, nn
from capstan.api.layers import base, convolutional


class CommonSeparableConv(convolutional.CommonConv):
    """A separable convolution with `rank` spatial axes, which has `filters` filters.

    The kernels are [*kernel_size, channels, depth_multiplier] and [1, ..., channels *
    depth_multiplier, filters].
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = init_ops.Zeros,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.pointwise_initializer = pointwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        channels, each = self.channels(input_shape), self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            (*self.kernel_size, channels, each),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            (*(1,) * self.rank, channels * each, self.filters),
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self.add_bias()
        self.built = True

    def convolved(self, inputs: Any) -> Any:
        return nn.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            [1, 1, *self.strides] if self.is_first else [1, *self.strides, 1],
            self.padding.upper(),
            rate=self.dilation_rate,
            data_format=self.layout,
        )


class CommonSeparableConv1D(CommonSeparableConv):
    """A separable convolution of sequences. It is one of images whose height is 1."""

    rank = 1

    def convolved(self, inputs: Any) -> Any:
        return self.separated(inputs, self.padding)

    def separated(self, inputs: Any, padding: str) -> Any:
        """Return the convolution of sequences with a padding, `valid` or `same`."""
        height, strides = (2 if self.is_first else 1), self.strides * 2
        images = nn.separable_conv2d(
            array_ops.expand_dims(inputs, height),
            array_ops.expand_dims(self.depthwise_kernel, 0),
            array_ops.expand_dims(self.pointwise_kernel, 0),
            [1, 1, *strides] if self.is_first else [1, *strides, 1],
            padding.upper(),
            rate=(1, *self.dilation_rate),
            data_format=self.layout,
        )
        return array_ops.squeeze(images, [height])


class SeparableConv1D(CommonSeparableConv1D, base.Layer):
    """A separable convolution of sequences with `filters` filters."""


class SeparableConv2D(CommonSeparableConv, base.Layer):
    """A separable convolution of images with `filters` filters."""


def _functional(layer: Any, arguments: dict[str, Any]) -> Any:
    """Return the outputs of a layer for the arguments of a function."""
    inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse")
    return layer(**arguments, _reuse=reuse, _scope=arguments["name"]).apply(inputs)


def separable_conv1d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = init_ops.Zeros,
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Return a separable convolution of sequences with `filters` filters."""
    return _functional(SeparableConv1D, locals())


def separable_conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = init_ops.Zeros,
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Return a separable convolution of images with `filters` filters."""
    return _functional(SeparableConv2D, locals())
