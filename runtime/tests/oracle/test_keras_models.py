"""Models of Keras and of Capstan are made from each other's configurations."""

import json
from typing import Any

import examples
import genuine
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan

pytestmark = genuine.MARKS

ROWS = np.random.RandomState(8).uniform(-1, 1, (3, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def keras(tf: Any) -> Any:
    """The Keras that is inside of TensorFlow 2, which keeps that of 1.15."""
    from tensorflow.python.keras import layers, models

    class Keras:
        Input = layers.Input

    Keras.layers, Keras.models = layers, models  # type: ignore[attr-defined]
    return Keras


def function(keras: Any) -> Any:
    one, two = keras.Input((4,), name="one"), keras.Input((4,), name="two")
    dense = keras.layers.Dense(3, "tanh", name="dense", kernel_constraint="non_neg")
    joined = keras.layers.Concatenate(name="joined")([dense(one), dense(two)])
    scaled = keras.layers.Dropout(0.5, name="dropout")(joined, training=False)
    end = keras.layers.Dense(1, name="end")(scaled)
    return keras.models.Model([one, two], [scaled, end], name="function")


def nested(keras: Any) -> Any:
    inner = sequence(keras)
    given = keras.Input((4,), name="given")
    added = keras.layers.Add(name="sum")([inner(inner(given)), given])
    return keras.models.Model(given, added, name="nested")


def sequence(keras: Any) -> Any:
    layers = [
        keras.layers.Dense(4, input_shape=(4,), name="first"),
        keras.layers.ReLU(name="second"),
        keras.layers.Reshape((2, 2), name="third"),
        keras.layers.Flatten(name="fourth"),
    ]
    return keras.models.Sequential(layers, name="sequence")


def gated(keras: Any) -> Any:
    """Return a model that passes an output of a layer as an argument behind the inputs."""
    one, two = keras.Input((4,), name="one"), keras.Input((1,), dtype="bool", name="two")
    rows = keras.layers.Reshape((1, 4), name="rows")(one)
    mask = keras.layers.Reshape((1,), name="mask")(two)
    end = keras.layers.SimpleRNN(2, name="end")(rows, mask=mask)
    return keras.models.Model([one, two], end, name="gated")


def outputs(module: Any, model: Any, values: list[Any]) -> Any:
    """Return the outputs for weights in the order of the names of the layers."""
    inputs = [
        module.constant(ROWS[:, :1] > 0 if each.dtype.name == "bool" else ROWS * (1 + place))
        for place, each in enumerate(model.inputs)
    ]
    results = model(inputs[0] if len(inputs) == 1 else inputs)
    with module.Session() as session:
        session.run(module.global_variables_initializer())
        for variable, value in zip(model.weights, values, strict=True):
            variable.load(value, session)
        return session.run(results)


def values_for(shapes: list[Any]) -> list[Any]:
    draw = np.random.RandomState(9)
    return [draw.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("make", [function, nested, sequence, gated])
def test_a_model_of_either_side_is_made_from_the_json_of_the_other(
    v1: Any, keras: Any, make: Any
) -> None:
    with v1.Graph().as_default():
        original = make(keras)
        kind = "Model" if "input_layers" in original.get_config() else "Sequential"
        described = {"class_name": kind, "config": original.get_config()}
        text = json.dumps(described, default=lambda value: value.tolist())
        values = values_for([variable.shape.as_list() for variable in original.weights])
        expected = outputs(v1, original, values)
    with capstan.Graph().as_default():
        model = capstan.keras.models.model_from_json(text)
        assert [v.shape for v in model.weights] == [value.shape for value in values]
        found = outputs(capstan, model, values)
    with capstan.Graph().as_default():
        own = make(capstan.keras)
        own_text, config = own.to_json(), own.get_config()
    with v1.Graph().as_default():
        again = outputs(v1, keras.models.model_from_json(own_text), values)
    if "input_layers" in config:
        theirs = original.get_config()
        assert _calls(config) == _calls(theirs)
    for results in (found, again):
        for result, value in zip(_list(results), _list(expected), strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-5)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _calls(config: Any) -> Any:
    calls = {each["name"]: each["inbound_nodes"] for each in config["layers"]}
    return calls, config["input_layers"], config["output_layers"]


def random_function(keras: Any, choices: list[tuple[int, int, bool]], ends: int) -> Any:
    """Return a model of layers, each of which takes one or two tensors made before it.

    Some calls are of a layer that was called before. The last `ends` tensors are outputs.
    """
    tensors = [keras.Input((2,), name=f"input_{number}") for number in range(3)]
    inputs, shared = tensors[:], keras.layers.Dense(2, name="shared")
    for number, (first, second, is_shared) in enumerate(choices):
        one, two = (tensors[choice % len(tensors)] for choice in (first, second))
        if is_shared:
            made = shared(one)
        elif one is two:
            made = keras.layers.Dense(2, name=f"dense_{number}")(one)
        else:
            made = keras.layers.Add(name=f"add_{number}")([one, two])
        tensors.append(made)
    return keras.models.Model(inputs, tensors[-ends:])


class Ours:
    Input = capstan.keras.Input
    layers, models = capstan.keras.layers, capstan.keras.models


@settings(max_examples=examples.share(30))
@given(
    choices=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20), st.booleans()), min_size=3, max_size=12
    ),
    ends=st.integers(1, 3),
)
def test_the_layers_of_a_function_are_in_the_order_of_keras(
    keras: Any, v1: Any, choices: list[tuple[int, int, bool]], ends: int
) -> None:
    with v1.Graph().as_default():
        expected = [layer.name for layer in random_function(keras, choices, ends).layers]
    with capstan.Graph().as_default():
        actual = [layer.name for layer in random_function(Ours, choices, ends).layers]
    assert actual == expected
