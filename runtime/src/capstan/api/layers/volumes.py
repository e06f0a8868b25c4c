"""`tf.layers`' convolutions and pools over volumes (python/layers/{convolutional,pooling}.py).

A volume has the shape [batch, depth, height, width, channels], or with `channels_first`
[batch, channels, depth, height, width].
"""

import abc
from typing import Any

from capstan.api import init_ops, nn
from capstan.api.layers import base, common, convolutional, input_spec, plain_arguments


def _per_axis(numbers: tuple[int, ...], layout: str) -> list[int]:
    """Return a number for each axis, with 1 for the batch and the channels."""
    return [1, 1, *numbers] if layout == "NCDHW" else [1, *numbers, 1]


class CommonConv3D(convolutional.CommonConv):
    """A convolution of volumes with `filters` filters."""

    rank = 3

    def convolved(self, inputs: Any) -> Any:
        layout = "NCDHW" if self.is_first else "NDHWC"
        return nn.conv3d(
            inputs,
            self.kernel,
            _per_axis(self.strides, layout),
            self.padding.upper(),
            layout,
            _per_axis(self.dilation_rate, layout),
        )


class CommonConv3DTranspose(convolutional.CommonConvTranspose):
    """The transpose of a convolution: it maps the outputs of a convolution to volumes."""

    rank = 3

    def transposed(self, inputs: Any, output_shape: Any) -> Any:
        layout = "NCDHW" if self.is_first else "NDHWC"
        return nn.conv3d_transpose(
            inputs,
            self.kernel,
            output_shape,
            _per_axis(self.strides, layout),
            self.padding.upper(),
            layout,
        )


class CommonPooling3D(common.CommonLayer):
    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = plain_arguments.normalize_tuple(pool_size, 3, "pool_size")
        self.strides = plain_arguments.normalize_tuple(strides, 3, "strides")
        self.padding = str(padding).lower()
        self.data_format = data_format
        self.layout = "NCDHW" if convolutional.is_first(data_format) else "NDHWC"
        self.input_spec = input_spec.InputSpec(ndim=5)

    @abc.abstractmethod
    def pool(self, *arguments: Any) -> Any:
        """Return the pooled volumes. The arguments are those of the function of `tf.nn`."""

    def call(self, inputs: Any) -> Any:
        return self.pool(
            inputs,
            _per_axis(self.pool_size, self.layout),
            _per_axis(self.strides, self.layout),
            self.padding.upper(),
            self.layout,
        )


class CommonMaxPooling3D(CommonPooling3D):
    """Takes the largest element of each window."""

    def pool(self, *arguments: Any) -> Any:
        return nn.max_pool3d(*arguments)


class CommonAveragePooling3D(CommonPooling3D):
    """Takes the mean of each window."""

    def pool(self, *arguments: Any) -> Any:
        return nn.avg_pool3d(*arguments)


class Conv3D(CommonConv3D, base.Layer):
    """A convolution of volumes with `filters` filters."""


class Conv3DTranspose(CommonConv3DTranspose, convolutional.ConvTranspose):
    """The transpose of a convolution: it maps the outputs of a convolution to volumes."""


class MaxPooling3D(CommonMaxPooling3D, base.Layer):
    """Takes the largest element of each window."""


class AveragePooling3D(CommonAveragePooling3D, base.Layer):
    """Takes the mean of each window."""


def _functional(layer: Any, arguments: dict[str, Any]) -> Any:
    """Return the outputs of a layer for the arguments of a function."""
    inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse")
    return layer(**arguments, _reuse=reuse, _scope=arguments["name"]).apply(inputs)


def conv3d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1, 1),
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
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Return the convolution of volumes with `filters` filters."""
    return _functional(Conv3D, locals())


def conv3d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
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
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Return volumes whose convolution with `filters` filters has the shape of `inputs`."""
    return _functional(Conv3DTranspose, locals())


def max_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of the volumes."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of the volumes."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name).apply(inputs)
