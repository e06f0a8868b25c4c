"""Weights of models of Keras are read and written as TensorFlow's Keras does."""

import pathlib
from collections.abc import Iterator
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

X = np.random.RandomState(1).uniform(-1, 1, (8, 3)).astype(np.float32)
Y = X[:, :1] - X[:, 1:2]


@pytest.fixture
def keras(tf: Any) -> Iterator[Any]:
    """The Keras that is inside of TensorFlow 2, which keeps that of 1.15."""
    from tensorflow.python import keras as inner
    from tensorflow.python.keras import backend, layers, models, optimizer_v2

    class Keras:
        Input = layers.Input

    Keras.layers, Keras.models = layers, models  # type: ignore[attr-defined]
    Keras.adam = optimizer_v2.adam.Adam  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patches, tf.Graph().as_default():
        # TensorFlow 2.21 has lost a name that its Keras needs to write HDF5 files.
        patches.setattr(inner, "__version__", "2.2.4-tf", raising=False)
        with backend.get_session().as_default():
            yield Keras


def model(keras: Any, adam: Any) -> Any:
    given = keras.Input((3,), name="given")
    hidden = keras.layers.Dense(4, input_shape=(3,), name="hidden")
    inner = keras.models.Sequential([hidden, keras.layers.PReLU(name="sloped")], "inner")
    end = keras.layers.Dense(1, name="end")(inner(given))
    found = keras.models.Model(given, end, name="model")
    found.compile(adam(0.1), "mse")
    return found


def theirs(keras: Any) -> Any:
    return model(keras, keras.adam)


def ours() -> Any:
    return model(capstan.keras, capstan.keras.optimizers.Adam)


def fit(trained: Any) -> list[Any]:
    trained.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    weights: list[Any] = trained.get_weights()
    return weights


def compare(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["weights", "weights.h5"])
def test_capstan_continues_the_training_of_tensorflow(
    keras: Any, name: str, tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / name)
    first = theirs(keras)
    saved = fit(first)
    first.save_weights(path)
    after = fit(first)
    with capstan.Graph().as_default():
        again = ours()
        again.load_weights(path)
        compare(again.get_weights(), saved)
        if name == "weights":  # An HDF5 file has no slots.
            compare(fit(again), after)
        capstan.keras.backend.set_session(None)


def test_tensorflow_reads_the_weights_of_capstan(
    tf: Any, keras: Any, tmp_path: pathlib.Path
) -> None:
    with capstan.Graph().as_default():
        first = ours()
        saved = fit(first)
        for name in ("weights", "weights.h5"):
            first.save_weights(str(tmp_path / name))
        capstan.keras.backend.set_session(None)
    again = theirs(keras)
    again.load_weights(str(tmp_path / "weights.h5"))
    compare(again.get_weights(), saved)
    # In TensorFlow 2.21, this Keras can no longer restore checkpoints. Their names must be equal.
    fit(again)
    again.save_weights(str(tmp_path / "again"))
    values, others = (
        tf.train.load_checkpoint(str(tmp_path / name)) for name in ("weights", "again")
    )
    shapes = values.get_variable_to_shape_map()
    assert shapes == others.get_variable_to_shape_map()
    kernels = [
        name for name in sorted(shapes) if name.endswith("kernel/.ATTRIBUTES/VARIABLE_VALUE")
    ]
    compare(map(values.get_tensor, kernels), [value for value in saved if value.ndim == 2])
