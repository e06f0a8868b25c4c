"""`tf.keras.layers` that convolve (python/keras/layers/convolutional.py)."""

from typing import Any

from capstan.api import array_ops, nn
from capstan.api.layers import convolutional, plain_arguments, settings, volumes
from capstan.keras import built_in


class Convolution(convolutional.CommonConv, built_in.BuiltIn):
    """The arguments of convolutions with `rank` spatial axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
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
        """Raises ValueError if the padding is `causal`, except for a Conv1D with its channels last.

        Sequences have their channels last by default. `tf.keras.backend.image_data_format()` gives
        the default of images and volumes.
        """
        arguments = built_in.resolved(locals())
        if self.rank > 1 or data_format is not None:
            arguments["data_format"] = settings.data_format(data_format)
        else:
            arguments["data_format"] = "channels_last"
        super().__init__(**arguments)
        if self.padding == "causal" and (self.rank > 1 or self.is_first):
            raise ValueError(
                "The padding 'causal' is for Conv1D with data_format='channels_last'. Use 'same' "
                "or 'valid'"
            )


class Conv1D(Convolution, convolutional.CommonConv1D):
    """A convolution of sequences [batch, steps, channels] with `filters` filters.

    The padding `causal` pads only in front, so that no output depends on later steps.
    """

    def convolved(self, inputs: Any) -> Any:
        if self.padding != "causal":
            return super().convolved(inputs)
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        padded = array_ops.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        return nn.conv1d(
            padded, self.kernel, self.strides[0], "VALID", dilations=self.dilation_rate[0]
        )


class Conv2D(Convolution):
    """A convolution of images with `filters` filters."""


class Conv3D(Convolution, volumes.CommonConv3D):
    """A convolution of volumes with `filters` filters."""


class Conv2DTranspose(convolutional.CommonConvTranspose, built_in.BuiltIn):
    """The transpose of a convolution: it maps the outputs of a convolution to images."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        output_padding: Any = None,
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
        """Raises NotImplementedError for an `output_padding`, or a `dilation_rate` above 1."""
        arguments = built_in.resolved(locals())
        self.output_padding = arguments.pop("output_padding")
        rates = plain_arguments.normalize_tuple(dilation_rate, self.rank, "dilation_rate")
        if output_padding is not None or max(rates) > 1:
            raise NotImplementedError(
                f"{type(self).__name__} has no output_padding and no dilation_rate: omit them"
            )
        super().__init__(**{**arguments, "data_format": settings.data_format(data_format)})


class Conv3DTranspose(volumes.CommonConv3DTranspose, built_in.BuiltIn):
    """The transpose of a convolution: it maps the outputs of a convolution to volumes.

    `output_padding` adds to the size of the outputs, after the padding `valid` or `same`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        output_padding: Any = None,
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
        """Raises ValueError if an output padding is not less than its stride."""
        arguments = built_in.resolved(locals())
        given = arguments.pop("output_padding")
        super().__init__(**{**arguments, "data_format": settings.data_format(data_format)})
        self.output_padding = None
        if given is not None:
            self.output_padding = plain_arguments.normalize_tuple(
                given, self.rank, "output_padding"
            )
            pairs = zip(self.output_padding, self.strides, strict=True)
            if any(own >= stride for own, stride in pairs):
                raise ValueError(
                    f"Stride {self.strides} must be greater than output padding "
                    f"{self.output_padding}"
                )

    def _length(self, size: Any, axis: int) -> Any:
        if size is None or self.output_padding is None:
            return super()._length(size, axis)
        width, stride = self.kernel_size[axis], self.strides[axis]
        pad = width // 2 if self.padding == "same" else 0
        return (size - 1) * stride + width - 2 * pad + self.output_padding[axis]
