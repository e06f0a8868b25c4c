"""`tf.contrib.layers`: layers as functions (contrib/layers/python/layers/layers.py).

The variables are `weights` and `biases` in the scope of the layer. They are model variables.
"""

import math
from collections.abc import Callable
from typing import Any

from capstan.api import init_ops, nn, scope_block, variable_scope
from capstan.api.absent import absent
from capstan.api.layers import base, convolutional
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_KEYS = collections.GraphKeys
Regularizer = Callable[[Any], Any]


class _Normal(init_ops.Initializer):
    """Creates truncated normal values with the variance 1.3 * factor / fan, as contrib does."""

    def __init__(self, factor: float, mode: str, seed: int | None, dtype: Any) -> None:
        self._inner = init_ops.VarianceScaling(1.3 * factor, mode, "normal", seed, dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return self._inner(shape, dtype, partition_info)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> init_ops.Initializer:
    """Return an initializer of values whose variance is `factor` divided by the fan."""
    if uniform:
        return init_ops.VarianceScaling(factor, mode.lower(), "uniform", seed, dtype)
    return _Normal(factor, mode.lower(), seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> init_ops.Initializer:
    """Return the initializer of Glorot and Bengio, with uniform or normal values."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a function from weights to `scale` times half the sum of their squares.

    Raises:
        ValueError: the scale is negative or an integer.
    """
    _check_scale(scale)
    if scale == 0.0:
        return lambda _: None

    def l2(weights: Any) -> Any:
        with scoped(scope, "l2_regularizer", (weights,)) as name:
            weights = convert.convert_to_tensor(weights)
            factor = convert.constant(scale, weights.dtype.base_dtype, name="scale")
            return raw.Mul(factor, nn.l2_loss(weights), name=name)

    return l2


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a function from weights to `scale` times the sum of their absolute values.

    Raises:
        ValueError: the scale is negative or an integer.
    """
    _check_scale(scale)
    if scale == 0.0:
        return lambda _: None

    def l1(weights: Any) -> Any:
        with scoped(scope, "l1_regularizer", (weights,)) as name:
            weights = convert.convert_to_tensor(weights)
            factor = convert.constant(scale, weights.dtype.base_dtype, name="scale")
            total = raw.Sum(raw.Abs(weights), list(range(weights.shape.ndims)))
            return raw.Mul(factor, total, name=name)

    return l1


def _check_scale(scale: float) -> None:
    if isinstance(scale, int):
        raise ValueError(f"scale cannot be an integer: {scale}")  # noqa: TRY004 - as TensorFlow
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")


def _model_variable(
    name: str, shape: list[int], dtype: Any, initializer: Any, regularizer: Any, trainable: bool
) -> Any:
    return variable_scope.get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable,
        [_KEYS.GLOBAL_VARIABLES, _KEYS.MODEL_VARIABLES],
    )


def _finished(
    outputs: Any,
    normalizer: Any,
    normalizer_params: Any,
    biases: Callable[[], Any],
    activation: Any,
    add_bias: Callable[[Any, Any], Any],
) -> Any:
    """Normalize the outputs, or add biases. Then apply the activation."""
    if normalizer is not None:
        outputs = normalizer(outputs, **(normalizer_params or {}))
    else:
        vector = biases()
        outputs = outputs if vector is None else add_bias(outputs, vector)
    return outputs if activation is None else activation(outputs)


def _collected(names: Any, outputs: Any) -> Any:
    for name in [names] if isinstance(names, str) else names or ():
        graphs.get_default_graph().add_to_collection(name, outputs)
    return outputs


def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return activation_fn(inputs * weights + biases), along the last axis."""
    with scope_block.variable_scope(scope, "fully_connected", [inputs], reuse=reuse):
        inputs = convert.convert_to_tensor(inputs)
        kind, size = inputs.dtype.base_dtype, inputs.shape.as_list()[-1]
        if size is None:
            raise ValueError("The last dimension of the inputs should be defined. Found `None`.")
        weights = _model_variable(
            "weights", [size, num_outputs], kind, weights_initializer or xavier_initializer(),
            weights_regularizer, trainable,
        )  # fmt: skip

        def biases() -> Any:
            if biases_initializer is None:
                return None
            return _model_variable(
                "biases", [num_outputs], kind, biases_initializer, biases_regularizer, trainable
            )

        sizes = inputs.shape.as_list()
        rank = len(sizes)
        flat = inputs if rank == 2 else raw.Reshape(inputs, [-1, size])
        outputs = raw.MatMul(flat, weights)
        if rank != 2:
            leading = raw.Slice(raw.Shape(inputs), [0], [rank - 1])
            outputs = raw.Reshape(outputs, raw.ConcatV2([leading, [num_outputs]], 0))
            outputs.set_shape([*sizes[:-1], num_outputs])
        outputs = _finished(
            outputs, normalizer_fn, normalizer_params, biases, activation_fn, nn.bias_add
        )
        return _collected(outputs_collections, outputs)


def conv2d(
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
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the convolution of images with `num_outputs` filters, biases and an activation."""
    layout = data_format or "NHWC"
    with scope_block.variable_scope(scope, "Conv", [inputs], reuse=reuse):
        inputs = convert.convert_to_tensor(inputs)
        kind = inputs.dtype.base_dtype
        channels = inputs.shape.as_list()[1 if layout == "NCHW" else 3]
        sides = convolutional.numbers(kernel_size, 2, "kernel_size")
        weights = _model_variable(
            "weights", [*sides, channels, num_outputs], kind,
            weights_initializer or xavier_initializer(), weights_regularizer, trainable,
        )  # fmt: skip

        def biases() -> Any:
            if biases_initializer is None:
                return None
            return _model_variable(
                "biases", [num_outputs], kind, biases_initializer, biases_regularizer, trainable
            )

        strides, rates = (
            convolutional.numbers(value, 2, name)
            for value, name in ((stride, "stride"), (rate, "rate"))
        )
        outputs = nn.conv2d(inputs, weights, strides, padding, data_format=layout, dilations=rates)
        outputs = _finished(
            outputs, normalizer_fn, normalizer_params, biases, activation_fn,
            lambda value, vector: nn.bias_add(value, vector, data_format=layout),
        )  # fmt: skip
        return _collected(outputs_collections, outputs)


convolution2d = conv2d


def _pool2d(function: Any, default: str) -> Callable[..., Any]:
    def pool(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str | None = "NHWC",
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Any:
        with scoped(scope, default, (inputs,)):
            sides = convolutional.numbers(kernel_size, 2, "kernel_size")
            strides = convolutional.numbers(stride, 2, "stride")
            outputs = function(inputs, sides, strides, padding, data_format or "NHWC")
            return _collected(outputs_collections, outputs)

    return pool


max_pool2d = _pool2d(nn.max_pool, "MaxPool2D")
avg_pool2d = _pool2d(nn.avg_pool, "AvgPool2D")


def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Return each example of a batch as a vector."""
    with scoped(scope, "Flatten", (inputs,)):
        inputs = convert.convert_to_tensor(inputs)
        sizes: list[Any] = inputs.shape.as_list()[1:]
        count = -1 if None in sizes else math.prod(sizes)
        if count >= 0:
            outputs = raw.Reshape(inputs, [-1, count])
        else:
            first = raw.Slice(raw.Shape(inputs), [0], [1])
            outputs = raw.Reshape(inputs, raw.ConcatV2([first, [-1]], 0))
        return _collected(outputs_collections, outputs)


def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Keep each element with the probability `keep_prob` during training."""
    with scope_block.variable_scope(scope, "Dropout", [inputs]):
        inputs = convert.convert_to_tensor(inputs)
        outputs = base.smart_cond(
            is_training,
            lambda: nn.dropout(inputs, keep_prob, noise_shape, seed),
            lambda: raw.Identity(inputs),
        )
        return _collected(outputs_collections, outputs)


__all__ = [
    "avg_pool2d", "conv2d", "convolution2d", "dropout", "flatten", "fully_connected",
    "l1_regularizer", "l2_regularizer", "max_pool2d", "variance_scaling_initializer",
    "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.layers", name)
