"""`tf.keras.wrappers.scikit_learn`: models are estimators of scikit-learn."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
keras = tf.keras
wrappers = keras.wrappers.scikit_learn
RANDOM = np.random.RandomState(8)
X = RANDOM.uniform(-1, 1, (40, 3)).astype(np.float32)
SIDES = np.where(X[:, 0] > 0, "right", "left")


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield
    keras.backend.set_session(None)


def classifier(units: int = 1, loss: str = "binary_crossentropy") -> Any:
    activation = "sigmoid" if units == 1 else "softmax"
    layers = [keras.layers.Dense(units, activation=activation, input_shape=(3,))]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.2), loss, metrics=["accuracy"])
    return model


def regressor() -> Any:
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile(keras.optimizers.Adam(0.2), "mse")
    return model


@pytest.mark.parametrize(
    ("units", "loss"),
    [
        (1, "binary_crossentropy"),
        (2, "categorical_crossentropy"),
        (2, "sparse_categorical_crossentropy"),
    ],
)
def test_a_classifier_predicts_labels(units: int, loss: str) -> None:
    model = wrappers.KerasClassifier(classifier, units=units, loss=loss, epochs=60, verbose=0)
    history = model.fit(X, SIDES)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.classes_.tolist() == ["left", "right"]
    assert model.n_classes_ == 2
    labels = model.predict(X)
    assert set(labels.ravel()) <= {"left", "right"}
    assert model.score(X, SIDES) == pytest.approx(np.mean(labels.ravel() == SIDES))
    assert model.score(X, SIDES) > 0.8
    shares = model.predict_proba(X)
    assert shares.shape == (40, 2)
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-5)


def test_rows_with_a_1_are_labels_too() -> None:
    model = wrappers.KerasClassifier(classifier, units=2, loss="categorical_crossentropy")
    model.fit(X, np.eye(2)[(SIDES == "right").astype(int)], epochs=1, verbose=0)
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="Invalid shape for y"):
        model.fit(X, np.zeros((40, 2, 2)))


def test_a_regressor_predicts_numbers() -> None:
    y = X @ np.array([1.0, -2.0, 0.5], np.float32)
    model = wrappers.KerasRegressor(regressor, epochs=3, batch_size=10, verbose=0)
    model.fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (40,)
    assert model.score(X, y, verbose=0) == pytest.approx(-np.mean((predicted - y) ** 2), rel=1e-4)
    scored = wrappers.KerasClassifier(regressor, verbose=0)
    scored.fit(X, SIDES)
    with pytest.raises(ValueError, match="not configured to compute accuracy"):
        scored.score(X, SIDES)


def test_parameters_are_arguments_of_the_functions_that_get_them() -> None:
    with pytest.raises(ValueError, match="width is not a legal parameter"):
        wrappers.KerasClassifier(classifier, width=3)
    model = wrappers.KerasClassifier(classifier, units=2)
    with pytest.raises(ValueError, match="width is not a legal parameter"):
        model.set_params(width=3)
    assert model.set_params(epochs=3) is model
    assert model.get_params() == {"units": 2, "epochs": 3, "build_fn": classifier}


def test_a_subclass_or_an_object_makes_the_model() -> None:
    class Mine(wrappers.KerasRegressor):  # type: ignore[misc, name-defined]
        def __call__(self) -> Any:
            return regressor()

    class Maker:
        def __call__(self, units: int) -> Any:
            return classifier(units, "categorical_crossentropy")

    Mine(verbose=0).fit(X, X[:, 0])
    model = wrappers.KerasClassifier(Maker(), units=2, verbose=0)
    model.fit(X, SIDES)
    assert model.predict(X).shape == (40,)


def test_a_search_of_scikit_learn_tries_parameters() -> None:
    pytest.importorskip("sklearn")
    model = wrappers.KerasRegressor(regressor, verbose=0)
    from sklearn.base import clone

    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
