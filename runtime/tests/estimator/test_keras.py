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

SEEDED = tf.estimator.RunConfig(tf_random_seed=1)


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


def subclass() -> Any:
    class Own(keras.Model):
        def call(self, inputs: Any) -> Any:
            return inputs

    model = Own()
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict, ValueError, "Either `keras_model` or `keras_model_path`"),
        (lambda: {"keras_model": keras.Sequential()}, ValueError, "has not been compiled yet"),
        (lambda: {"keras_model": subclass()}, NotImplementedError, "a model_fn of your own"),
        (lambda: {"keras_model_path": "m.h5"}, NotImplementedError, "no files of Keras"),
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
