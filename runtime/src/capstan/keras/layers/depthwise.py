"""`tf.keras.layers` that convolve each channel by itself (python/keras/layers/convolutional.py)."""

from typing import Any

from capstan.api import array_ops, nn
from capstan.api.layers import convolutional, separable, settings
from capstan.keras import built_in


class SeparableConv1D(separable.CommonSeparableConv1D, built_in.BuiltIn):
    """A convolution of each channel by itself, and a convolution with filters of one step.

    The padding `causal` pads only in front, so that no output depends on later steps.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        arguments = built_in.resolved(locals())
        super().__init__(**{**arguments, "data_format": settings.data_format(data_format)})

    def convolved(self, inputs: Any) -> Any:
        if self.padding != "causal":
            return super().convolved(inputs)
        before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        pads = [[0, 0], [0, 0], before] if self.is_first else [[0, 0], before, [0, 0]]
        return self.separated(array_ops.pad(inputs, pads), "valid")


class SeparableConv2D(separable.CommonSeparableConv, built_in.BuiltIn):
    """A convolution of each channel by itself, and a convolution with filters of one pixel."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        arguments = built_in.resolved(locals())
        super().__init__(**{**arguments, "data_format": settings.data_format(data_format)})


class DepthwiseConv2D(convolutional.CommonConv, built_in.BuiltIn):
    """A convolution of each channel by itself, with `depth_multiplier` filters for each one."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        """`dilation_rate` is one of the other arguments."""
        arguments = built_in.resolved(locals())
        self.depth_multiplier = arguments.pop("depth_multiplier")
        self.depthwise_initializer = arguments.pop("depthwise_initializer")
        self.depthwise_regularizer = arguments.pop("depthwise_regularizer")
        self.depthwise_constraint = arguments.pop("depthwise_constraint")
        self.depthwise_kernel: Any = None
        arguments["data_format"] = settings.data_format(data_format)
        super().__init__(filters=0, **arguments)

    def build(self, input_shape: Any) -> None:
        channels = self.channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            (*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.filters = channels * self.depth_multiplier
        self.add_bias()
        self.built = True

    def convolved(self, inputs: Any) -> Any:
        return nn.depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            [1, 1, *self.strides] if self.is_first else [1, *self.strides, 1],
            self.padding.upper(),
            self.dilation_rate,
            data_format=self.layout,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        return {**super().get_config(), "dilation_rate": self.dilation_rate}
