"""Models of Keras become estimators."""

import pathlib
from typing import Any

import linear_estimator as models
import numpy as np
import pytest

import capstan as tf

keras = tf.keras
X = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
Y = (X @ np.float32([1, -2, 0.5]) > 0).astype(np.float32)

SEEDED = tf.estimator.RunConfig(tf_random_seed=3)


def classifier(optimizer: Any = "adam") -> Any:
    model = keras.Sequential(
        [
            keras.layers.Dense(8, activation="relu", input_shape=(3,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(1, activation="sigmoid", name="p"),
        ]
    )
    model.compile(optimizer, "binary_crossentropy", metrics=["acc", keras.metrics.AUC(name="auc")])
    return model


def data(repeats: int | None) -> Any:
    return lambda: tf.data.Dataset.from_tensor_slices((X, Y)).repeat(repeats).batch(16)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "optimizer", [lambda: keras.optimizers.Adam(0.01), lambda: tf.train.AdagradOptimizer(0.1)]
)
def test_a_model_trains_evaluates_and_predicts_as_an_estimator(
    optimizer: Any, tmp_path: pathlib.Path
) -> None:
    with tf.Graph().as_default():
        estimator = keras.estimator.model_to_estimator(
            classifier(optimizer()), model_dir=str(tmp_path), config=SEEDED
        )
    estimator.train(data(None), steps=100)
    found = estimator.evaluate(data(1))
    assert set(found) == {"loss", "acc", "auc", "global_step"}
    assert found["global_step"] == 100
    assert found["acc"] > 0.85
    predictions = [each["p"][0] for each in estimator.predict(data(1))]
    assert len(predictions) == len(X)
    np.testing.assert_allclose(np.mean((np.array(predictions) > 0.5) == Y), found["acc"])
    with tf.Graph().as_default():
        model = classifier()
        model.load_weights(estimator.latest_checkpoint())
        np.testing.assert_allclose(model.predict(X)[:, 0], predictions, rtol=1e-5)
        keras.backend.set_session(None)
    # Only training changes the moving averages.
    names = estimator.get_variable_names()
    (moving,) = [name for name in names if name.endswith("moving_mean")]
    assert np.abs(estimator.get_variable_value(moving)).max() > 0


@pytest.mark.e2e
def test_the_estimator_begins_with_the_values_of_the_model(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        model = classifier()
        model.fit(X, Y, epochs=30, verbose=0)
        loss, *_ = model.evaluate(X, Y)
        values = model.get_weights()
        estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
        names = [variable.op.name for variable in model.weights]
        keras.backend.set_session(None)
    estimator.train(data(1), steps=1)
    start = [estimator.get_variable_value(name) for name in names]
    assert max(np.abs(a - b).max() for a, b in zip(start, values, strict=True)) < 0.05
    assert estimator.evaluate(data(1))["loss"] < loss + 0.1


@pytest.mark.e2e
def test_inputs_and_outputs_have_their_names(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        a, b = keras.Input((1,), name="a"), keras.Input((1,), name="b", dtype="int32")
        vectors = keras.layers.Flatten()(keras.layers.Embedding(3, 2)(b))
        both = keras.layers.Concatenate()([a, vectors])
        heads = [keras.layers.Dense(1, name=name)(both) for name in ("m", "n")]
        model = keras.Model([a, b], heads)
        model.compile("sgd", "mse", metrics={"n": ["mae"]})
        estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))

    def input_fn() -> Any:
        features = {"b": tf.constant([1, 2]), "a": tf.constant([0.5, 1.5], tf.float64)}
        return features, {"n": tf.constant([1.0, 2.0]), "m": tf.constant([[3.0], [4.0]])}

    estimator.train(input_fn, steps=2)
    found = estimator.evaluate(input_fn, steps=1)
    assert set(found) == {"loss", "m_loss", "n_loss", "n_mean_absolute_error", "global_step"}
    np.testing.assert_allclose(found["loss"], found["m_loss"] + found["n_loss"], rtol=1e-5)
    first = next(estimator.predict(lambda: input_fn()[0]))
    assert {name: value.shape for name, value in first.items()} == {"m": (1,), "n": (1,)}


class Own(keras.Model):
    """A model whose layers are in attributes, a list, and a model inside."""

    def __init__(self, size: int) -> None:
        super().__init__(name="own")
        self.first = keras.layers.Dense(size, activation="relu")
        self.rest = [keras.layers.BatchNormalization(), keras.layers.Dropout(0.1)]
        self.inner = keras.Sequential([keras.layers.Dense(size), keras.layers.Dense(size)])
        self.last = self.again = keras.layers.Dense(size, activation="sigmoid")
        self.scale = 0.5

    def call(self, inputs: Any, training: Any = None) -> Any:
        hidden = self.first(inputs)
        for layer in self.rest:
            hidden = layer(hidden)
        return self.again(self.last(self.inner(hidden * self.scale)))[:, :1]


@pytest.mark.e2e
@pytest.mark.parametrize("is_trained", [False, True])
def test_a_subclass_becomes_an_estimator(is_trained: bool, tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        model = Own(8)
        model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["acc"])
        if is_trained:
            first_loss, _ = model.evaluate(X, Y, verbose=0)
            model.fit(X, Y, epochs=60, verbose=0, shuffle=False)
            loss, _ = model.evaluate(X, Y, verbose=0)
        estimator = keras.estimator.model_to_estimator(
            model, model_dir=str(tmp_path), config=SEEDED
        )
        keras.backend.set_session(None)
    estimator.train(data(None), steps=1 if is_trained else 200)
    found = estimator.evaluate(data(1))
    assert found["acc"] > 0.8
    if is_trained:
        assert found["loss"] < (loss + first_loss) / 2
    first = next(estimator.predict(data(1)))
    assert {name: value.shape for name, value in first.items()} == {"output_1": (1,)}
    names = estimator.get_variable_names()
    assert "own/dense/kernel" in names
    assert len([name for name in names if name.endswith("kernel")]) == 4
    by_key = estimator.predict(lambda: {"input_1": tf.constant(X)})
    np.testing.assert_array_equal(next(by_key)["output_1"], first["output_1"])


def test_a_subclass_with_variables_of_its_own_is_refused(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        model = Own(2)
        model.shift = tf.Variable(1.0, name="shift", use_resource=True)
        model.compile("sgd", "mse")
        estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    with pytest.raises(ValueError, match="holds the variable shift:0"):
        estimator.train(data(1), steps=1)


@pytest.mark.e2e
def test_the_file_of_a_model_becomes_an_estimator(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed: make test installs it")
    path = str(tmp_path / "model.h5")
    with tf.Graph().as_default():
        model = classifier()
        model.fit(X, Y, epochs=30, verbose=0)
        loss, *_ = model.evaluate(X, Y, verbose=0)
        model.save(path)
        keras.backend.set_session(None)
    with tf.Graph().as_default():
        estimator = keras.estimator.model_to_estimator(
            keras_model_path=path, model_dir=str(tmp_path / "estimator")
        )
        keras.backend.set_session(None)
    estimator.train(data(1), steps=1)
    assert estimator.evaluate(data(1))["loss"] < loss + 0.1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict, ValueError, "Either `keras_model` or `keras_model_path`"),
        (lambda: {"keras_model": keras.Sequential()}, ValueError, "has not been compiled yet"),
        (
            lambda: {"keras_model": Own(2), "keras_model_path": "m.h5"},
            ValueError,
            "and not both",
        ),
        (lambda: {"keras_model": Own(2), "checkpoint_format": "x"}, NotImplementedError, "Saver"),
    ],
)
def test_a_model_that_cannot_be_an_estimator_is_refused(
    given: Any, error: type[Exception], message: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        keras.estimator.model_to_estimator(**given())


def test_missing_features_are_named(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        estimator = models.keras_estimator(tmp_path)
    with pytest.raises(ValueError, match="The features have no 'x'"):
        estimator.train(lambda: ({"z": tf.ones([2, 2])}, tf.ones([2])), steps=1)
