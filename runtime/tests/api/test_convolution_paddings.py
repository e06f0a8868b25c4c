"""Paddings of convolutions and pools: `tf.nn` takes them as written, and layers in any case."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

_STEPS = [1, 1, 1, 1]

FUNCTIONS: dict[str, Callable[[Any, Any, str], Any]] = {
    "conv2d": lambda x, w, padding: tf.nn.conv2d(x, w, _STEPS, padding),
    "conv2d_transpose": lambda x, w, padding: tf.nn.conv2d_transpose(
        x, w, [1, 4, 4, 3], _STEPS, padding
    ),
    "depthwise_conv2d": lambda x, w, padding: tf.nn.depthwise_conv2d(x, w, _STEPS, padding),
    "convolution": lambda x, w, padding: tf.nn.convolution(x, w, padding),
    "max_pool": lambda x, _, padding: tf.nn.max_pool(x, [1, 2, 2, 1], _STEPS, padding),
    "avg_pool": lambda x, _, padding: tf.nn.avg_pool(x, [1, 2, 2, 1], _STEPS, padding),
    "pool": lambda x, _, padding: tf.nn.pool(x, [2, 2], "MAX", padding),
}

LAYERS: dict[str, Callable[[Any, str], Any]] = {
    "conv1d": lambda x, padding: tf.layers.conv1d(x[0], 2, 2, padding=padding)[tf.newaxis],
    "conv2d": lambda x, padding: tf.layers.conv2d(x, 2, 2, padding=padding),
    "max_pooling2d": lambda x, padding: tf.layers.max_pooling2d(x, 2, 1, padding),
    "contrib": lambda x, padding: tf.contrib.layers.conv2d(x, 2, 2, padding=padding),
    "contrib pool": lambda x, padding: tf.contrib.layers.max_pool2d(x, 2, 1, padding),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
@pytest.mark.parametrize("padding", ["same", "valid", "Same"])
def test_functions_refuse_a_padding_that_is_not_in_capitals(
    function: Callable[[Any, Any, str], Any], padding: str
) -> None:
    with pytest.raises(ValueError, match=f"passed string '{padding}' not in"):
        function(tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 3, 3]), padding)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=list(LAYERS))
@pytest.mark.parametrize("padding", ["same", "SAME"])
def test_layers_take_a_padding_in_small_letters_and_in_capitals(
    layer: Callable[[Any, str], Any], padding: str
) -> None:
    assert layer(tf.ones([1, 4, 4, 3]), padding).shape.as_list()[1:3] == [4, 4]


@pytest.mark.parametrize(
    "padding, message",
    [
        ([[0, 0], [0, 0], [0, 0]], "4 pairs"),
        ([[0], [0], [0], [0]], "a pair of numbers"),
        ([0, 0, 0, 0], "a pair of numbers"),
        ([[0, 0], [0, -1], [1, 2], [0, 0]], "nonnegative"),
        ([[1, 0], [0, 0], [0, 0], [0, 0]], "batch or depth"),
        ([[0, 0], [0, 0], [0, 0], [0, 1]], "batch or depth"),
    ],
)
def test_a_list_of_paddings_that_no_convolution_can_have_is_refused(
    padding: Any, message: str
) -> None:
    x, filters = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match=message):
        tf.nn.conv2d(x, filters, _STEPS, padding)
    turned = [padding[0], *padding[-1:], *padding[1:-1]]
    with pytest.raises(ValueError, match=message):
        tf.nn.conv2d(x, filters, _STEPS, turned, data_format="NCHW")
