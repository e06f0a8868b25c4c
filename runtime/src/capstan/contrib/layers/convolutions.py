"""The convolutions of `tf.contrib.layers` (contrib/layers/python/layers/layers.py).

The variables are `weights` and `biases` in the scope of the layer. They are model variables.
"""

import inspect
from typing import Any, TypeVar

from capstan.api import init_ops, nn, scope_block
from capstan.api.layers import convolutional, plain_arguments, separable, volumes
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting, weighted
from capstan.contrib.layers.initializers import XAVIER
from capstan.framework import convert

_LAYOUTS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
_CLASSES: dict[int, Any] = {
    3: convolutional.Conv1D,
    4: convolutional.Conv2D,
    5: volumes.Conv3D,
}
_NAMES = collecting.renaming(
    kernel="weights", bias="biases",
    depthwise_kernel="depthwise_weights", pointwise_kernel="pointwise_weights",
)  # fmt: skip


def _axis_format(data_format: str | None) -> str:
    if data_format not in _LAYOUTS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return "channels_first" if (data_format or "").startswith("NC") else "channels_last"


@argument_scopes.add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """Return the convolution of sequences, images or volumes, with biases and an activation.

    With `normalizer_fn`, such as `batch_norm`, there are no biases.

    Raises:
        ValueError: the rank of the inputs is not 3, 4 or 5, or is not `conv_dims` + 2.
    """
    layout = _axis_format(data_format)
    with scope_block.variable_scope(
        scope, "Conv", [inputs], reuse=reuse, custom_getter=_NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in _CLASSES:
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        return weighted.applied(
            _CLASSES[rank], block, inputs, reuse, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, variables_collections, outputs_collections, trainable,
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
            data_format=layout, dilation_rate=rate,
        )  # fmt: skip


_Function = TypeVar("_Function")


def _like_convolution(function: _Function) -> _Function:
    """Give a function the signature of `convolution`, from which its defaults are known."""
    vars(function)["__signature__"] = inspect.signature(convolution)
    return function


@argument_scopes.add_arg_scope
@_like_convolution
def convolution1d(*args: Any, **kwargs: Any) -> Any:
    """Return the convolution of sequences, as `convolution` does."""
    return convolution(*args, **{**kwargs, "conv_dims": 1})


@argument_scopes.add_arg_scope
@_like_convolution
def convolution2d(*args: Any, **kwargs: Any) -> Any:
    """Return the convolution of images, as `convolution` does."""
    return convolution(*args, **{**kwargs, "conv_dims": 2})


@argument_scopes.add_arg_scope
@_like_convolution
def convolution3d(*args: Any, **kwargs: Any) -> Any:
    """Return the convolution of volumes, as `convolution` does."""
    return convolution(*args, **{**kwargs, "conv_dims": 3})


@argument_scopes.add_arg_scope
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the transpose of a convolution of images, with biases and an activation."""
    return _transposed(
        convolutional.Conv2DTranspose, "Conv2d_transpose", inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, reuse, variables_collections,
        outputs_collections, trainable, scope,
    )  # fmt: skip


@argument_scopes.add_arg_scope
def convolution3d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the transpose of a convolution of volumes, with biases and an activation."""
    return _transposed(
        volumes.Conv3DTranspose, "Conv3d_transpose", inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, reuse, variables_collections,
        outputs_collections, trainable, scope,
    )  # fmt: skip


def _transposed(
    kind: Any, default_scope: str, inputs: Any, num_outputs: int, kernel_size: Any, stride: Any,
    padding: str, data_format: str, activation_fn: Any, normalizer_fn: Any, normalizer_params: Any,
    weights_initializer: Any, weights_regularizer: Any, biases_initializer: Any,
    biases_regularizer: Any, reuse: Any, variables_collections: Any, outputs_collections: Any,
    trainable: bool, scope: Any,
) -> Any:  # fmt: skip
    with scope_block.variable_scope(
        scope, default_scope, [inputs], reuse=reuse, custom_getter=_NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        return weighted.applied(
            kind, block, inputs, reuse, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, variables_collections, outputs_collections, trainable,
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
            data_format=_axis_format(data_format),
        )  # fmt: skip


@argument_scopes.add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the convolution of each channel by itself, and of pixels with `num_outputs` filters.

    If `num_outputs` is None, there is only the first convolution.
    """
    layout = _axis_format(data_format)
    with scope_block.variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=_NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        if num_outputs is None:
            outputs = _depthwise(
                inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate,
                None if normalizer_fn else biases_initializer, biases_regularizer,
                weights_initializer, weights_regularizer, variables_collections, trainable,
            )  # fmt: skip
        else:
            layer = separable.SeparableConv2D(
                filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
                data_format=layout, name=block.name, dtype=inputs.dtype.base_dtype, _scope=block,
                _reuse=reuse,
                dilation_rate=rate, depth_multiplier=depth_multiplier,
                use_bias=not normalizer_fn and biases_initializer is not None,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer, bias_regularizer=biases_regularizer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer, trainable=trainable,
            )  # fmt: skip
            outputs = layer.apply(inputs)
            collecting.collect_variables(
                variables_collections, weights=layer.depthwise_kernel, biases=layer.bias
            )
            collecting.collect_variables(variables_collections, weights=layer.pointwise_kernel)
        return collecting.finished(
            outputs, activation_fn, outputs_collections, block.name, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


def _depthwise(
    inputs: Any, kernel_size: Any, each: int, stride: Any, padding: str, data_format: str,
    rate: Any, biases_initializer: Any, biases_regularizer: Any, weights_initializer: Any,
    weights_regularizer: Any, variables_collections: Any, trainable: bool,
) -> Any:  # fmt: skip
    """Return the convolution of each channel by itself, with `each` filters, and with biases."""
    dtype, is_first = inputs.dtype.base_dtype, data_format == "NCHW"
    channels = inputs.shape.as_list()[1 if is_first else 3]
    sides = plain_arguments.normalize_tuple(kernel_size, 2, "kernel_size")
    strides = plain_arguments.normalize_tuple(stride, 2, "stride")
    weights = variables.model_variable(
        "depthwise_weights", [*sides, channels, each], dtype, weights_initializer,
        weights_regularizer, trainable,
        collecting.collections_for(variables_collections, "weights"),
    )  # fmt: skip
    outputs = nn.depthwise_conv2d(
        inputs, weights, [1, 1, *strides] if is_first else [1, *strides, 1], padding,
        rate=plain_arguments.normalize_tuple(rate, 2, "rate"), data_format=data_format,
    )  # fmt: skip
    if biases_initializer is None:
        return outputs
    biases = variables.model_variable(
        "biases", [channels * each], dtype, biases_initializer, biases_regularizer, trainable,
        collecting.collections_for(variables_collections, "biases"),
    )  # fmt: skip
    return nn.bias_add(outputs, biases, data_format=data_format)


conv1d = convolution1d
conv2d = convolution2d
conv2d_transpose = convolution2d_transpose
conv3d = convolution3d
conv3d_transpose = convolution3d_transpose
separable_conv2d = separable_convolution2d
