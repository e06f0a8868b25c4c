"""`tf.keras.layers` that convolve (python/keras/layers/convolutional.py)."""

from typing import Any

from capstan.api import array_ops, nn
from capstan.api.layers import convolutional, volumes
from capstan.keras import built_in, settings


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    return built_in.resolved({**given, "data_format": settings.data_format(given["data_format"])})


class Conv1D(convolutional.CommonConv1D, built_in.BuiltIn):
    """A convolution of sequences [batch, steps, channels] with `filters` filters.

    The padding `causal` pads only in front, so that no output depends on later steps.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if a causal convolution has its channels first."""
        super().__init__(**_arguments(locals()))
        if self.padding == "causal" and self.is_first:
            raise ValueError("A causal convolution needs data_format='channels_last'")

    def convolved(self, inputs: Any) -> Any:
        if self.padding != "causal":
            return super().convolved(inputs)
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        padded = array_ops.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        return nn.conv1d(
            padded, self.kernel, self.strides[0], "VALID", dilations=self.dilation_rate[0]
        )


class Conv2D(convolutional.CommonConv, built_in.BuiltIn):
    """A convolution of images with `filters` filters."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class Conv3D(volumes.CommonConv3D, built_in.BuiltIn):
    """A convolution of volumes with `filters` filters."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class Conv2DTranspose(convolutional.CommonConvTranspose, built_in.BuiltIn):
    """The transpose of a convolution: it maps the outputs of a convolution to images."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class SeparableConv2D(convolutional.CommonSeparableConv2D, built_in.BuiltIn):
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
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))
