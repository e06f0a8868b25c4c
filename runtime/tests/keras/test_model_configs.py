"""Models of Keras have configurations, from which equal models are made."""

import json
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
layers, models = tf.keras.layers, tf.keras.models

ROWS = np.random.RandomState(2).uniform(-1, 1, (3, 4)).astype(np.float32)


class Twice(layers.Layer):
    def call(self, inputs: Any, factor: Any = 2.0, note: Any = None) -> Any:
        return inputs * factor


class Weighted(layers.Layer):
    def call(self, inputs: Any, weights: Any = None, factors: Any = ()) -> Any:
        scaled = inputs * weights["all"]
        for factor in factors:
            scaled = scaled * factor
        return scaled


def weighted() -> Any:
    """Return a model that passes outputs of layers, and other tensors, as arguments of calls."""
    one, two = tf.keras.Input((4,), name="one"), tf.keras.Input((4,), name="two")
    both = layers.Dense(4, name="dense")(two)
    weights = {"all": layers.ReLU(name="relu")(both)}
    factors = [tf.constant(3.0), two, np.array([1.0, 2.0, 3.0, 4.0], np.float32)]
    end = Weighted(name="weighted")(one, weights=weights, factors=factors)
    return tf.keras.Model([one, two], layers.ReLU(name="end")(end), name="weights")


def shared() -> Any:
    """Return a model with two inputs and outputs, a shared layer and an argument of a call."""
    one, two = tf.keras.Input((4,), name="one"), tf.keras.Input((4,), name="two")
    dense = layers.Dense(3, "tanh", name="dense")
    joined = layers.Concatenate(name="joined")([dense(one), dense(two), dense(one)])
    scaled = layers.Dropout(0.5, name="dropout")(joined, training=False)
    return tf.keras.Model([one, two], [scaled, layers.Dense(1, name="end")(scaled)], name="shared")


def nested() -> Any:
    """Return a model that calls a model twice."""
    inner = tf.keras.Sequential([layers.Dense(4, input_shape=(4,)), layers.ReLU()], name="inner")
    given = tf.keras.Input(batch_shape=(3, 4), name="given")
    return tf.keras.Model(given, layers.Add(name="sum")([inner(inner(given)), given]))


def sequence() -> Any:
    return tf.keras.Sequential(
        [layers.Dense(3, input_shape=(4,), kernel_regularizer="l2"), layers.Dense(2)], "chain"
    )


def begun_by_input() -> Any:
    return tf.keras.Sequential([layers.InputLayer((4,), name="x"), layers.Dense(2)])


MODELS = {each.__name__: each for each in (shared, nested, sequence, begun_by_input)}


def check_equal(model: Any, again: Any) -> None:
    """Check that two models compute the same from the same weights."""
    assert again.get_config() == model.get_config()
    assert not {id(each) for each in again.weights} & {id(each) for each in model.weights}
    inputs = [tf.constant(ROWS * (1 + place)) for place in range(len(model.inputs))]
    calls = [each(inputs[0] if len(inputs) == 1 else inputs) for each in (model, again)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        again.set_weights(model.get_weights())
        found = session.run(calls)
    for result, expected in zip(*map(tf.nest.flatten, found), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_made_again_from_its_json(name: str) -> None:
    model = MODELS[name]()
    text = model.to_json()
    described = json.loads(text)
    assert described["class_name"] == type(model).__name__
    assert (described["keras_version"], described["backend"]) == ("2.2.4-tf", "tensorflow")
    again = models.model_from_json(text)
    assert type(again) is type(model)
    assert again.to_json() == text
    check_equal(model, type(model).from_config(model.get_config()))


@pytest.mark.parametrize("name", MODELS)
def test_a_clone_has_variables_of_its_own(name: str) -> None:
    model = MODELS[name]()
    with tf.name_scope("clone"):
        check_equal(model, models.clone_model(model))


def test_the_configuration_names_each_call_by_its_layer_and_number() -> None:
    config = shared().get_config()
    found = {each["name"]: each["inbound_nodes"] for each in config["layers"]}
    assert found["one"] == []
    assert found["dense"] == [[["one", 0, 0, {}]], [["two", 0, 0, {}]], [["one", 0, 0, {}]]]
    assert found["joined"] == [[["dense", 0, 0, {}], ["dense", 1, 0, {}], ["dense", 2, 0, {}]]]
    assert found["dropout"] == [[["joined", 0, 0, {"training": False}]]]
    assert config["input_layers"] == [["one", 0, 0], ["two", 0, 0]]
    assert config["output_layers"] == [["dropout", 0, 0], ["end", 0, 0]]
    calls = {each["name"]: each["inbound_nodes"] for each in nested().get_config()["layers"]}
    # The call that makes a model is number 0.
    assert calls["inner"] == [[["given", 0, 0, {}]], [["inner", 1, 0, {}]]]
    assert calls["sum"] == [[["inner", 2, 0, {}], ["given", 0, 0, {}]]]


@pytest.mark.parametrize("name", ["BatchNormalizationV1", "BatchNormalizationV2"])
def test_files_of_other_versions_call_batch_normalization_by_other_names(name: str) -> None:
    layer = layers.deserialize({"class_name": name, "config": {"momentum": 0.75}})
    assert (type(layer), layer.momentum) == (layers.BatchNormalization, 0.75)


def test_layers_of_a_program_are_known_by_their_names() -> None:
    given = tf.keras.Input((4,))
    model = tf.keras.Model(given, Twice(name="twice")(given, 3.0))
    with pytest.raises(ValueError, match="Unknown layer: Twice"):
        models.model_from_json(model.to_json())
    again = models.model_from_json(model.to_json(), custom_objects={"Twice": Twice})
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(again(tf.constant(ROWS))), ROWS * 3)


def test_the_configuration_names_the_outputs_of_layers_that_are_arguments() -> None:
    model = weighted()
    calls = {each["name"]: each["inbound_nodes"] for each in model.get_config()["layers"]}
    options = {
        "weights": {"all": ["relu", 0, 0]},
        "factors": [3.0, ["two", 0, 0], [1.0, 2.0, 3.0, 4.0]],
    }
    assert calls["weighted"] == [[["one", 0, 0, options]]]
    custom = {"Weighted": Weighted}
    again = models.model_from_json(model.to_json(), custom_objects=custom)
    with tf.keras.utils.custom_object_scope(custom), tf.name_scope("clone"):
        check_equal(model, again)
        check_equal(model, models.clone_model(model))
    inputs = [tf.constant(ROWS), tf.constant(-ROWS)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, found = session.run([model.weights[0], model(inputs)])
    expected = ROWS * np.maximum(-ROWS @ kernel, 0) * 3 * -ROWS * [1, 2, 3, 4]
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-5)


def test_a_clone_takes_tensors_and_a_function_for_its_layers() -> None:
    model, seen = shared(), []

    def clone(layer: Any) -> Any:
        seen.append(layer.name)
        return (
            layers.Dense.from_config({**layer.get_config(), "activation": None})
            if (layer.name == "dense")
            else type(layer).from_config(layer.get_config())
        )

    rows = [tf.constant(ROWS), tf.keras.Input(tensor=tf.constant(-ROWS))]
    again = models.clone_model(model, rows, clone)
    assert seen == ["dense", "joined", "dropout", "end"]
    assert [each.op.type for each in again.inputs] == ["Const", "Const"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, joined = session.run([again.weights[0], again.outputs[0]])
    np.testing.assert_allclose(joined[:, 3:6], -ROWS @ kernel, rtol=1e-5)
    chain = models.clone_model(sequence(), tf.constant(ROWS))
    assert chain.outputs[0].shape.as_list() == [3, 2]


def test_an_argument_that_json_cannot_hold_is_left_out(caplog: Any) -> None:
    given = tf.keras.Input((4,), name="given")
    model = tf.keras.Model(given, Twice(name="twice")(given, note={1, 2}))
    assert model.get_config()["layers"][1]["inbound_nodes"] == [[["given", 0, 0, {}]]]
    assert "non-serializable keyword arguments" in caplog.text


def test_the_learning_phase_of_a_call_is_left_out(caplog: Any) -> None:
    given = tf.keras.Input((4,), name="given")
    phase = tf.keras.backend.learning_phase()
    dropout = layers.Dropout(0.5, name="dropout")
    model = tf.keras.Model(given, dropout(dropout(given, training=phase), phase))
    calls = [[["given", 0, 0, {}]], [["dropout", 0, 0, {}]]]
    assert model.get_config()["layers"][1]["inbound_nodes"] == calls
    with tf.keras.backend.learning_phase_scope(0):
        assert model.get_config()["layers"][1]["inbound_nodes"] == calls
    assert caplog.text == ""
    for again in (models.clone_model(model), tf.keras.Model.from_config(model.get_config())):
        with tf.Session() as session:
            found = session.run(again.output, {again.input: np.ones((50, 4)), phase: True})
        assert 0 in found


class Turned(layers.Layer):
    def call(self, inputs: Any, perm: Any = None, factors: Any = ()) -> Any:
        assert isinstance(perm, tuple)
        assert isinstance(factors, list)
        assert isinstance(factors[1], tuple)
        return tf.transpose(inputs, perm) * factors[0] * factors[1][0]


def test_an_argument_of_a_call_keeps_the_types_of_its_sequences() -> None:
    given = tf.keras.Input((2, 4), name="given")
    factor = layers.ReLU(name="factor")(layers.Permute((2, 1), name="permute")(given))
    turned = Turned(name="turned")(given, perm=(0, 2, 1), factors=[2.0, (factor, 1)])
    model = tf.keras.Model(given, turned)
    config = model.get_config()
    made = tf.keras.Model.from_config(config, custom_objects={"Turned": Turned})
    for again in (models.clone_model(model), made):
        assert again.get_config()["layers"] == config["layers"]


class Subclass(tf.keras.Model):
    def call(self, inputs: Any) -> Any:
        return inputs


def twins() -> Any:
    given = tf.keras.Input((4,))
    return tf.keras.Model(given, layers.ReLU(name="a")(layers.ReLU(name="a")(given)))


def without_input() -> Any:
    given = tf.placeholder(tf.float32, [None, 4], name="x")
    return tf.keras.Model(given, layers.ReLU()(given))


def broken() -> Any:
    config = nested().get_config()
    config["layers"][1]["inbound_nodes"][0][0][0] = "sum"
    return tf.keras.Model.from_config(config)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: Subclass().get_config(), NotImplementedError, "Override get_config"),
        (lambda: models.clone_model(Subclass()), ValueError, "got a subclass model instead"),
        (lambda: twins().get_config(), ValueError, 'The name "a" is used 2 times'),
        (lambda: without_input().get_config(), ValueError, "Make it by tf.keras.Input"),
        (lambda: broken(), ValueError, "No layer computes the inputs of"),
        (lambda: models.model_from_config([]), TypeError, "expects a dictionary, not a list"),
    ],
)
def test_models_without_a_configuration_are_refused(use: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        use()


@pytest.mark.parametrize("is_sequential", [False, True])
def test_a_copy_of_a_model_may_begin_with_a_variable(is_sequential: bool) -> None:
    keras = tf.keras
    layer = keras.layers.Dense(2, kernel_initializer="ones", input_shape=(3,))
    model = keras.Sequential([layer])
    if not is_sequential:
        inputs = keras.Input(3)
        model = keras.Model(inputs, layer(inputs))
    rows = keras.backend.variable(np.ones((4, 3)))
    copy = keras.models.clone_model(model, input_tensors=rows)
    np.testing.assert_array_equal(keras.backend.eval(copy.output), np.full((4, 2), 3.0))
    copy.compile("sgd", "mse")
    copy.train_on_batch(None, np.ones((4, 2)))
