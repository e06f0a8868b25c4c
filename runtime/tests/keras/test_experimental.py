"""`tf.keras.experimental`: SavedModels, features of sequences, and models of two parts.

tests/oracle/test_keras_experimental.py compares layers, schedules and files with TensorFlow.
"""

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
keras = tf.keras
experimental = keras.experimental
RANDOM = np.random.RandomState(6)
X = RANDOM.uniform(-1, 1, (10, 4)).astype(np.float32)
Y = RANDOM.uniform(-1, 1, (10, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def sequential() -> Any:
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Dense(3, activation="relu", input_shape=(4,)),
            layers.BatchNormalization(),
            layers.Dense(2),
        ]
    )


def functional() -> Any:
    first, second = keras.Input((4,), name="first"), keras.Input((4,), name="second")
    joined = keras.layers.concatenate([first, second])
    return keras.Model([first, second], keras.layers.Dense(2, name="sum")(joined))


class Subclass(keras.Model):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return self.dense(inputs)


def signatures(path: pathlib.Path, tag: str, use: Callable[[Any, Any], Any]) -> Any:
    """Load the graph with a tag. Return `use(session, signatures)`."""
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, [tag], str(path))
        return use(session, dict(meta.signature_def))


@pytest.mark.parametrize("make", [sequential, functional])
def test_a_saved_model_has_the_values_of_the_model(
    tmp_path: pathlib.Path, make: Callable[[], Any]
) -> None:
    model = make()
    inputs = [X, X[::-1]] if len(model.inputs) == 2 else X
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(inputs, Y, epochs=2, verbose=0)
    expected = model.predict(inputs)
    experimental.export_saved_model(model, tmp_path / "model")
    described = json.loads((tmp_path / "model/assets/saved_model.json").read_text("utf-8"))
    assert described["config"]["name"] == model.name
    with tf.Graph().as_default():
        read = experimental.load_from_saved_model(tmp_path / "model")
        np.testing.assert_array_equal(read.predict(inputs), expected)
        assert read.optimizer is None

    def predicted(session: Any, found: Any) -> Any:
        signature = found["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        names = [signature.inputs[name].name for name in model.input_names]
        feeds = dict(zip(names, inputs if isinstance(inputs, list) else [inputs], strict=True))
        return session.run(signature.outputs[model.output_names[0]].name, feeds)

    actual = signatures(tmp_path / "model", "serve", predicted)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_the_graph_of_training_goes_on_with_the_training(tmp_path: pathlib.Path) -> None:
    model = sequential()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
    model.fit(X, Y, epochs=3, verbose=0, shuffle=False)
    experimental.export_saved_model(model, str(tmp_path / "model"))
    expected = model.evaluate(X, Y, verbose=0)
    trained = model.fit(X, Y, epochs=2, verbose=0, shuffle=False).history["loss"]

    def feeds(signature: Any) -> dict[str, Any]:
        assert set(signature.inputs) == {"dense_input", "dense_1_target"}
        return {signature.inputs["dense_input"].name: X, signature.inputs["dense_1_target"].name: Y}

    def train(session: Any, found: Any) -> Any:
        signature = found["train"]
        assert signature.method_name == "tensorflow/supervised/training"
        (step,) = found["__saved_model_train_op"].outputs.values()
        wanted = [signature.outputs["loss"].name, session.graph.get_operation_by_name(step.name)]
        count = session.run(tf.train.get_global_step())
        return count, [session.run(wanted, feeds(signature))[0] for _ in range(2)]

    count, losses = signatures(tmp_path / "model", "train", train)
    assert count == 3
    np.testing.assert_allclose(losses, trained, rtol=1e-5)

    def evaluate(session: Any, found: Any) -> Any:
        signature = found["eval"]
        assert signature.method_name == "tensorflow/supervised/eval"
        (init,) = found["__saved_model_init_op"].outputs.values()
        session.run(session.graph.get_operation_by_name(init.name))
        outputs, given = signature.outputs, feeds(signature)
        session.run(outputs["metrics/mean_absolute_error/update_op"].name, given)
        value = session.run(outputs["metrics/mean_absolute_error/value"].name)
        assert set(outputs) >= {"predictions/dense_1", "loss"}
        return [session.run(outputs["loss"].name, given), value]

    actual = signatures(tmp_path / "model", "eval", evaluate)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_an_optimizer_of_train_is_exported(tmp_path: pathlib.Path) -> None:
    model = sequential()
    model.compile(tf.train.MomentumOptimizer(0.1, 0.9), "mse")
    model.fit(X, Y, verbose=0)
    experimental.export_saved_model(model, tmp_path / "model", as_text=True)
    assert (tmp_path / "model/saved_model.pbtxt").exists()
    assert "train" in signatures(tmp_path / "model", "train", lambda _, found: found)


def test_a_subclass_is_exported_for_serving(tmp_path: pathlib.Path) -> None:
    model = Subclass()
    with pytest.raises(NotImplementedError, match="serving_only=True"):
        experimental.export_saved_model(model, tmp_path / "model")
    expected = model.predict(X)
    experimental.export_saved_model(model, tmp_path / "model", serving_only=True)
    assert not (tmp_path / "model/assets").exists()

    def predicted(session: Any, found: Any) -> Any:
        (given,) = found["serving_default"].inputs.values()
        (output,) = found["serving_default"].outputs.values()
        return session.run(output.name, {given.name: X})

    actual = signatures(tmp_path / "model", "serve", predicted)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_the_inputs_follow_the_signature(tmp_path: pathlib.Path) -> None:
    spec = [tf.TensorSpec([3, 4], name="numbers")]
    experimental.export_saved_model(sequential(), tmp_path / "model", input_signature=spec)

    def shape(_: Any, found: Any) -> Any:
        (given,) = found["serving_default"].inputs.values()
        return given.name, [size.size for size in given.tensor_shape.dim]

    assert signatures(tmp_path / "model", "serve", shape) == ("numbers:0", [3, 4])


def test_a_model_without_inputs_cannot_be_exported(tmp_path: pathlib.Path) -> None:
    model = keras.Sequential([keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="have not yet been created"):
        experimental.export_saved_model(model, tmp_path / "model")
    model.predict(X)
    experimental.export_saved_model(model, tmp_path / "other")
    with pytest.raises(AssertionError, match="isn't empty"):
        experimental.export_saved_model(model, tmp_path / "other")


def columns() -> list[Any]:
    words = tf.feature_column.sequence_categorical_column_with_identity("words", 5)
    return [
        tf.feature_column.sequence_numeric_column("age"),
        tf.feature_column.embedding_column(words, 3),
    ]


def sequences() -> dict[str, Any]:
    places = [[0, 0], [0, 1], [1, 0]]
    return {
        "words": tf.SparseTensor(places, [3, 1, 4], [2, 2]),
        "age": tf.SparseTensor(places, [0.5, 1.5, 2.5], [2, 2]),
    }


def test_features_of_sequences_stand_side_by_side_for_each_step() -> None:
    layer = experimental.SequenceFeatures(columns(), name="given")
    numbers, lengths = layer(sequences())
    (weights,) = layer.weights
    assert weights.name == "given/words_embedding/embedding_weights:0"
    assert numbers.shape.as_list() == [2, 2, 4]
    assert layer.compute_output_shape([2, 7]).as_list() == [2, 7, 4]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, sizes, table = session.run([numbers, lengths, weights])
    np.testing.assert_array_equal(sizes, [2, 1])
    np.testing.assert_array_equal(found[0, 1], [1.5, *table[1]])
    np.testing.assert_array_equal(found[1], [[2.5, *table[4]], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match="must be of type _SequenceDenseColumn"):
        experimental.SequenceFeatures([tf.feature_column.numeric_column("age")])
    with pytest.raises(ValueError, match="dictionary"):
        layer(tf.constant([1.0]))


def test_a_linear_model_adds_its_inputs() -> None:
    model = experimental.LinearModel(2, activation="relu", kernel_regularizer="l2")
    model.compile("sgd", "mse")
    losses = model.fit([X, X[:, :2]], Y, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    first, second, bias = model.get_weights()
    expected = np.maximum(X @ first + X[:, :2] @ second + bias, 0)
    np.testing.assert_allclose(model.predict([X, X[:, :2]]), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="Expected 2 inputs, but got 1"):
        model(tf.constant(X))
    config = model.get_config()
    assert experimental.LinearModel.from_config(config).get_config() == config
    plain = experimental.LinearModel(use_bias=False)
    plain(tf.constant(X))
    assert len(plain.weights) == 1


def wide_and_deep(optimizer: Any) -> Any:
    zeros = {"kernel_initializer": "zeros"}
    deep = keras.Sequential([keras.layers.Dense(2, input_shape=(4,), **zeros)])
    model = experimental.WideDeepModel(experimental.LinearModel(2, **zeros), deep)
    model.compile(optimizer, "mse")
    return model


def test_each_part_of_a_wide_and_deep_model_has_an_optimizer_of_its_own() -> None:
    model = wide_and_deep([keras.optimizers.SGD(0.2), keras.optimizers.SGD(0.4)])
    model.fit(X, Y, epochs=1, batch_size=10, verbose=0)
    wide = dict(zip(("kernel", "bias"), model.linear_model.get_weights(), strict=True))
    kernel, bias = model.dnn_model.get_weights()
    slope = -2 * X.T @ Y / Y.size / 2
    np.testing.assert_allclose(wide["kernel"], -0.2 * slope, rtol=1e-5)
    np.testing.assert_allclose(kernel, -0.4 * slope, rtol=1e-5)
    np.testing.assert_allclose(bias, 2 * wide["bias"], rtol=1e-5)
    mean = 0.5 * (X @ (wide["kernel"] + kernel) + wide["bias"] + bias)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-4, atol=1e-6)


def test_one_optimizer_trains_both_parts() -> None:
    model = wide_and_deep("sgd")
    model.fit(X, Y, epochs=2, batch_size=10, verbose=0)
    assert keras.backend.get_value(model.optimizer.iterations) == 4
    wide = dict(zip(("kernel", "bias"), model.linear_model.get_weights(), strict=True))
    np.testing.assert_allclose(wide["kernel"], model.dnn_model.get_weights()[0], rtol=1e-5)
    read = experimental.WideDeepModel.from_config(model.get_config())
    assert read.get_config() == model.get_config()


def test_schedules_are_made_again_from_their_configurations() -> None:
    schedules = keras.optimizers.schedules
    for schedule in (
        experimental.CosineDecay(0.1, 5, alpha=0.2),
        experimental.CosineDecayRestarts(0.1, 5, t_mul=3.0),
        experimental.LinearCosineDecay(0.1, 5, num_periods=2),
        experimental.NoisyLinearCosineDecay(0.1, 5, beta=0.5, name="noise"),
    ):
        read = schedules.deserialize(schedules.serialize(schedule))
        assert type(read) is type(schedule)
        assert read.get_config() == schedule.get_config()
