"""`tf.keras.layers.Lambda`: its variables, the shapes of its outputs, and its configuration."""

import json
from typing import Any

import numpy as np
import pytest

import capstan as tf

layers = tf.keras.layers


def test_the_variables_of_a_function_are_those_of_the_layer_and_are_made_once() -> None:
    def scaled(x: Any) -> Any:
        fixed = tf.Variable(0.0, name="fixed", trainable=False)
        return x * tf.Variable(2.0, name="scale") + fixed

    layer = layers.Lambda(scaled, name="scaled")
    for _ in range(3):
        layer(tf.ones([2]))
    assert [each.op.name for each in layer.trainable_weights] == ["scaled/scale"]
    assert [each.op.name for each in layer.non_trainable_weights] == ["scaled/fixed"]
    assert len(tf.global_variables()) == 2


def test_a_model_trains_the_variables_of_a_function() -> None:
    def scaled(x: Any) -> Any:
        return x * tf.Variable(1.0, name="scale", use_resource=True)

    model = tf.keras.Sequential([layers.Lambda(scaled, input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    model.fit(np.ones((8, 1)), 3 * np.ones((8, 1)), epochs=20, verbose=0)
    np.testing.assert_allclose(model.get_weights(), [3.0], rtol=1e-4)


@pytest.mark.parametrize(
    "function, output_shape, given, expected",
    [
        (lambda x: x, None, (5, 10), [5, 10]),
        (lambda x: x, (None, 10), (5, 10, 20), [5, None, 10]),
        (lambda x: x, lambda shape: (shape[0], 7), (5, 10), [5, 7]),
        (lambda x: tf.matmul(x[0], x[1]), None, [(10, 10), (10, 20)], [10, 20]),
    ],
)
def test_the_shape_of_the_outputs(
    function: Any, output_shape: Any, given: Any, expected: list[int | None]
) -> None:
    layer = layers.Lambda(function, output_shape=output_shape)
    assert layer.compute_output_shape(given).as_list() == expected


def test_the_shapes_of_nested_outputs() -> None:
    layer = layers.Lambda(lambda x: (x[1]["a"], {"b": x[0]}))
    first, rest = layer.compute_output_shape(((10, 20), {"a": (10, 5)}))
    assert first.as_list() == [10, 5]
    assert rest["b"].as_list() == [10, 20]


OFFSET = 3


def shifted(x: Any) -> Any:
    return x + OFFSET


@pytest.mark.parametrize("closes_over", [False, True])
def test_a_model_with_a_function_can_be_written_as_json(closes_over: bool) -> None:
    factor = 2.0
    function = (lambda x: x * factor) if closes_over else shifted
    layer = layers.Lambda(function, mask=lambda _, mask: mask, input_shape=(1,))
    text = tf.keras.Sequential([layer]).to_json()
    described = json.loads(text)["config"]["layers"][0]["config"]
    assert (described["function_type"], described["module"]) == ("lambda", __name__)
    assert (described["output_shape"], described["output_shape_type"]) == (None, "raw")
    again = tf.keras.models.model_from_json(text)
    assert again.predict(np.ones((1, 1))).tolist() == [[2.0 if closes_over else 4.0]]
    assert again.layers[0].mask(None, "mask") == "mask"


def test_a_callable_with_a_name_is_found_by_it() -> None:
    layer = layers.Lambda(np.negative)
    config = layer.get_config()
    assert (config["function"], config["function_type"]) == ("negative", "function")
    again = layers.Lambda.from_config(config, {"negative": np.negative})
    assert again.function is np.negative
    with pytest.raises(ValueError, match="Unknown function of a layer: negative"):
        layers.Lambda.from_config({**config, "module": None})


def test_bytecode_of_another_python_is_refused() -> None:
    config = layers.Lambda(shifted).get_config()
    _, *rest = config["function"]
    with pytest.raises(ValueError, match="Another version of Python has probably written it"):
        layers.Lambda.from_config({**config, "function": ("AAAA\n", *rest)})


def test_the_arguments_of_a_function_are_not_its_local_variables() -> None:
    def local(x: Any) -> Any:
        training = 2.0
        return x * training

    class Phase:
        def __call__(self, x: Any, training: Any = None) -> Any:
            return x * (3.0 if training else 1.0)

    outputs = [
        layers.Lambda(local)(tf.ones([])),
        layers.Lambda(Phase())(tf.ones([]), training=True),
        layers.Lambda(tf.negative)(tf.ones([])),
    ]
    with tf.Session() as session:
        assert session.run(outputs) == [2.0, 3.0, -1.0]
