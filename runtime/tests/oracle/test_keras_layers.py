"""Layers of Keras have the variables, outputs and gradients of TensorFlow's Keras."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(5)


def numbers(*shape: int) -> Any:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


STEPS, IMAGES, VOLUMES = numbers(2, 6, 3), numbers(2, 5, 6, 3), numbers(2, 3, 2, 3, 2)
FILMS = numbers(2, 3, 5, 4, 2)
QUERY, VALUE, KEY = numbers(2, 3, 4), numbers(2, 5, 4), numbers(2, 5, 4)
SEEN = np.array([[True, True, False, True, False], [True] * 5])
ASKED = np.array([[True, False, True], [False, True, True]])
LAYERS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "DepthwiseConv2D": (lambda k: k.DepthwiseConv2D(3, activation="tanh"), [IMAGES]),
    "DepthwiseConv2D, strided": (
        lambda k: k.DepthwiseConv2D((2, 3), 2, "same", depth_multiplier=2, use_bias=False),
        [IMAGES],
    ),
    "DepthwiseConv2D, dilated": (
        lambda k: k.DepthwiseConv2D(2, dilation_rate=2, name="mine"),
        [IMAGES],
    ),
    "SeparableConv1D": (lambda k: k.SeparableConv1D(4, 2, depth_multiplier=2), [STEPS]),
    "SeparableConv1D, strided": (lambda k: k.SeparableConv1D(4, 3, 2, "same"), [STEPS]),
    "SeparableConv1D, causal": (
        lambda k: k.SeparableConv1D(2, 2, padding="causal", dilation_rate=2, activation="relu"),
        [STEPS],
    ),
    "SeparableConv2D": (
        lambda k: k.SeparableConv2D(
            2, 2, depthwise_constraint="non_neg", pointwise_constraint="unit_norm"
        ),
        [IMAGES],
    ),
    "Conv3DTranspose": (lambda k: k.Conv3DTranspose(3, 2, (1, 2, 3)), [VOLUMES]),
    "Conv3DTranspose, same": (
        lambda k: k.Conv3DTranspose(3, 3, 2, "same", activation="tanh"),
        [VOLUMES],
    ),
    "Conv3DTranspose, output padding": (
        lambda k: k.Conv3DTranspose(2, 3, 2, "same", output_padding=1),
        [VOLUMES],
    ),
    "ConvLSTM2D": (lambda k: k.ConvLSTM2D(3, 2), [FILMS]),
    "ConvLSTM2D, sequences": (
        lambda k: k.ConvLSTM2D(
            2, (3, 2), (1, 2), "same", return_sequences=True, go_backwards=True, use_bias=False
        ),
        [FILMS],
    ),
    "ConvLSTM2D, dilated": (
        lambda k: k.ConvLSTM2D(2, 2, dilation_rate=2, activation="relu", unit_forget_bias=False),
        [FILMS],
    ),
    "Attention": (lambda k: k.Attention(), [QUERY, VALUE]),
    "Attention, keys": (lambda k: k.Attention(use_scale=True), [QUERY, VALUE, KEY]),
    "Attention, causal": (lambda k: k.Attention(causal=True), [VALUE, VALUE]),
    "AdditiveAttention": (lambda k: k.AdditiveAttention(), [QUERY, VALUE]),
    "AdditiveAttention, keys": (
        lambda k: k.AdditiveAttention(use_scale=False, causal=True),
        [QUERY, VALUE, KEY],
    ),
}


@pytest.fixture(scope="module")
def keras(tf: Any) -> Any:
    """The layers of the Keras that is inside of TensorFlow 2, which keeps those of 1.15."""
    from tensorflow.python.keras import layers

    return layers


def computed(module: Any, make: Callable[[], Any], inputs: Any, weights: Any, **call: Any) -> Any:
    """Return the variables, the outputs, the gradients by the inputs, and the static shape."""
    with module.Graph().as_default(), module.Session() as session:
        layer = make()
        tensors = [module.constant(each) for each in inputs]
        masks = {name: [module.constant(m) for m in each] for name, each in call.items()}
        outputs = layer(tensors[0] if len(tensors) == 1 else tensors, **masks)
        found = [variable.shape.as_list() for variable in layer.weights]
        values = weights(found)
        session.run(module.global_variables_initializer())
        for variable, value in zip(layer.weights, values, strict=True):
            variable.load(value, session)
        slopes = module.gradients(outputs * outputs, [*tensors, *layer.trainable_weights])
        names = [variable.name for variable in layer.weights]
        return names, outputs.shape.as_list(), session.run([outputs, *slopes])


def compare(v1: Any, make: Any, oracle: Any, inputs: Any, **call: Any) -> None:
    draw = np.random.RandomState(6)
    values: list[Any] = []

    def weights(shapes: list[Any]) -> list[Any]:
        if not values:
            values.extend(draw.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
        return values

    *expected, wanted = computed(v1, lambda: make(oracle), inputs, weights, **call)
    *found, results = computed(capstan, lambda: make(capstan.keras.layers), inputs, weights, **call)
    assert found == expected
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_variables_and_values_of_keras(v1: Any, keras: Any, name: str) -> None:
    make, inputs = LAYERS[name]
    compare(v1, make, keras, inputs)
    with v1.Graph().as_default(), capstan.Graph().as_default():
        expected, layer = make(keras).get_config(), make(capstan.keras.layers)
        config = layer.get_config()
        later = {"groups", "dropout", "dtype"}
        shared = (config.keys() & expected.keys()) - later
        assert config.keys() >= expected.keys() - later - LATER.get(type(layer).__name__, set())
        simple = [key for key in shared if not isinstance(expected[key], dict)]
        assert {key: config[key] for key in simple} == {key: expected[key] for key in simple}
        assert type(layer).from_config(config).get_config() == config


KERNELS = {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}
LATER = {
    "SeparableConv1D": KERNELS,
    "SeparableConv2D": KERNELS,
    "Conv3DTranspose": {"dilation_rate"},
}
"""Arguments that later versions of Keras have, by layer."""


@pytest.mark.parametrize("name", ["Attention", "Attention, causal", "AdditiveAttention"])
def test_attention_leaves_out_what_its_masks_hide(v1: Any, keras: Any, name: str) -> None:
    make, inputs = LAYERS[name]
    asked = SEEN[::-1] if inputs[0].shape[1] == 5 else ASKED
    compare(v1, make, keras, inputs, mask=[asked, SEEN])
