"""`tf.keras.layers` that convolve (python/keras/layers/convolutional.py)."""

from typing import Any

from capstan.api import array_ops, nn
from capstan.api.layers import convolutional, plain_arguments, settings, volumes
from capstan.keras import backend_convolutions, built_in, transposed_lengths


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


class _PaddedTranspose(convolutional.CommonConvTranspose):
    """A transposed convolution whose outputs may have further elements at their ends."""

    output_padding: tuple[int, ...] | None = None

    def _set_output_padding(self, given: Any) -> None:
        if given is None:
            return
        self.output_padding = plain_arguments.normalize_tuple(given, self.rank, "output_padding")
        pairs = zip(self.output_padding, self.strides, strict=True)
        if any(own >= stride for own, stride in pairs):
            raise ValueError(
                f"Stride {self.strides} must be greater than output padding {self.output_padding}"
            )

    def _length(self, size: Any, axis: int) -> Any:
        further = None if self.output_padding is None else self.output_padding[axis]
        return transposed_lengths.deconv_output_length(
            size,
            self.kernel_size[axis],
            self.padding,
            further,
            self.strides[axis],
            self.dilation_rate[axis],
        )


class Conv2DTranspose(_PaddedTranspose, built_in.BuiltIn):
    """The transpose of a convolution: it maps the outputs of a convolution to images.

    `output_padding` adds to the size of the outputs, after the padding `valid` or `same`. With a
    `dilation_rate`, the strides only count for the size of the outputs.
    """

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
        """Raises ValueError if an output padding is not less than its stride."""
        arguments = built_in.resolved(locals())
        given = arguments.pop("output_padding")
        super().__init__(**{**arguments, "data_format": settings.data_format(data_format)})
        self._set_output_padding(given)

    def transposed(self, inputs: Any, output_shape: Any) -> Any:
        """Return the gradient of the convolution.

        Raises:
            ValueError: the two dilation rates differ.
        """
        if max(self.dilation_rate) == 1:
            return super().transposed(inputs, output_shape)
        is_known = isinstance(output_shape, list)
        sizes = output_shape if is_known else array_ops.unstack(output_shape, num=4)
        return backend_convolutions.conv2d_transpose(
            inputs, self.kernel, sizes, self.strides, self.padding, self.data_format,
            self.dilation_rate,
        )  # fmt: skip


class Conv3DTranspose(_PaddedTranspose, volumes.CommonConv3DTranspose, built_in.BuiltIn):
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
        self._set_output_padding(given)
