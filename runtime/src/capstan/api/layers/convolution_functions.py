"""The functions of `tf.layers` for convolutions (python/layers/convolutional.py).

Each makes a layer of the same name and returns its outputs. With a `name` and `reuse=True`, the
layer uses the variables of an earlier layer of that name.
"""

from typing import Any

from capstan.api import init_ops
from capstan.api.layers import convolutional


def _functional(layer: Any, arguments: dict[str, Any]) -> Any:
    """Return the outputs of a layer for the arguments of a function."""
    inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse")
    return layer(**arguments, _reuse=reuse, _scope=arguments["name"]).apply(inputs)


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
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
    """Return the convolution of images with `filters` filters."""
    return _functional(convolutional.Conv2D, locals())


def conv1d(
    inputs: Any,
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
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Return the convolution of sequences with `filters` filters."""
    return _functional(convolutional.Conv1D, locals())


def conv2d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
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
    """Return images whose convolution would have the shape of the inputs."""
    return _functional(convolutional.Conv2DTranspose, locals())
