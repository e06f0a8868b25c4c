"""Layers and cells whose weights have masks
(contrib/model_pruning/python/layers/layers.py and rnn_cells.py).
"""

from typing import Any

from capstan.api import init_ops, nn, scope_block
from capstan.api.layers import convolutional, core
from capstan.api.rnn import cells
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import weighted
from capstan.contrib.layers.initializers import XAVIER
from capstan.contrib.model_pruning import masks
from capstan.framework import convert


def _masked(layer: Any, weights: Any) -> Any:
    """Return the weights of a layer times its new mask."""
    layer.built = False  # a layer that is built adds no variables
    mask = layer.add_weight("mask", weights.shape, initializer=init_ops.Ones, trainable=False)
    threshold = layer.add_weight("threshold", [], initializer=init_ops.Zeros, trainable=False)
    layer.built = True
    return masks.collected(mask, threshold, weights)


class _MaskedDense(core.Dense):
    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.weight = self.kernel
        self.kernel = _masked(self, self.weight)


class _MaskedConv2D(convolutional.Conv2D):
    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.weight = self.kernel
        self.kernel = _masked(self, self.weight)


@argument_scopes.add_arg_scope
def masked_convolution(
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
) -> Any:
    """Return the convolution of images with masked weights, as `tf.contrib.layers.conv2d` does.

    Raises:
        ValueError: the inputs have another rank than 4, or `data_format` is not that of images.
    """
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"Unsupported data format: {data_format!r}. Use NHWC or NCHW")
    with scope_block.variable_scope(
        scope, "Conv", [inputs], reuse=reuse, custom_getter=weighted.NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        if inputs.shape.ndims != 4:
            raise ValueError(
                f"Sparse Convolution not supported for input with rank {inputs.shape.ndims}"
            )
        return weighted.applied(
            _MaskedConv2D, block, inputs, reuse, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, variables_collections, outputs_collections, trainable,
            "weight", filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
            data_format="channels_first" if data_format == "NCHW" else "channels_last",
            dilation_rate=rate,
        )  # fmt: skip


masked_conv2d = masked_convolution


@argument_scopes.add_arg_scope
def masked_fully_connected(
    inputs: Any,
    num_outputs: int,
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
    """Return activation_fn(inputs * masked weights + biases), along the last axis.

    With `normalizer_fn`, such as `batch_norm`, there are no biases.

    Raises:
        ValueError: `num_outputs` is not an integer.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(  # noqa: TRY004 - TensorFlow's kind of error
            f"num_outputs should be int or long, got {num_outputs}."
        )
    with scope_block.variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=weighted.NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        return weighted.applied(
            _MaskedDense, block, inputs, reuse, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, variables_collections, outputs_collections, trainable,
            "weight", units=num_outputs,
        )  # fmt: skip


class MaskedBasicLSTMCell(cells.BasicLSTMCell):
    """The cell `tf.nn.rnn_cell.BasicLSTMCell` with a mask of its weights."""

    def build(self, inputs_shape: Any) -> None:
        super().build(inputs_shape)
        kernel, bias = self._weights
        self._weights = _masked(self, kernel), bias


class MaskedLSTMCell(cells.LSTMCell):
    """The cell `tf.nn.rnn_cell.LSTMCell` with a mask of the weights of its gates."""

    def build(self, inputs_shape: Any) -> None:
        super().build(inputs_shape)
        kernel, bias = self._weights
        self._weights = _masked(self, kernel), bias
