"""Files of whole models are read and written as TensorFlow's Keras does."""

import pathlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(1)
X = RANDOM.uniform(-1, 1, (8, 6)).astype(np.float32)
IMAGES = RANDOM.uniform(-1, 1, (4, 6, 6, 2)).astype(np.float32)
STEPS = RANDOM.uniform(-1, 1, (4, 5, 3)).astype(np.float32)
WORDS = RANDOM.randint(0, 9, (4, 5)).astype(np.int32)


@pytest.fixture
def keras(tf: Any) -> Iterator[Any]:
    """The Keras that is inside of TensorFlow 2, which keeps that of 1.15."""
    from tensorflow.python import keras as inner
    from tensorflow.python.keras import backend, layers, losses, metrics, models, optimizer_v2

    class Keras:
        Input = layers.Input

    Keras.layers, Keras.models = layers, models  # type: ignore[attr-defined]
    Keras.losses, Keras.metrics = losses, metrics  # type: ignore[attr-defined]
    Keras.optimizers = {  # type: ignore[attr-defined]
        "adam": optimizer_v2.adam.Adam,
        "sgd": optimizer_v2.gradient_descent.SGD,
        "rmsprop": optimizer_v2.rmsprop.RMSprop,
    }
    with pytest.MonkeyPatch.context() as patches, tf.Graph().as_default():
        # TensorFlow 2.21 has lost a name that its Keras needs to write HDF5 files.
        patches.setattr(inner, "__version__", "2.2.4-tf", raising=False)
        with backend.get_session().as_default():
            yield Keras


class Ours:
    Input, layers, models = capstan.keras.Input, capstan.keras.layers, capstan.keras.models
    losses, metrics = capstan.keras.losses, capstan.keras.metrics
    optimizers: ClassVar = {
        "adam": capstan.keras.optimizers.Adam,
        "sgd": capstan.keras.optimizers.SGD,
        "rmsprop": capstan.keras.optimizers.RMSprop,
    }


def images(keras: Any) -> Any:
    layers = keras.layers
    return keras.models.Sequential(
        [
            layers.Conv2D(3, 3, padding="same", activation="relu", input_shape=(6, 6, 2)),
            layers.SeparableConv2D(2, 2, kernel_regularizer="l2"),
            layers.DepthwiseConv2D(2),
            layers.MaxPooling2D(2),
            layers.ZeroPadding2D(1),
            layers.Conv2DTranspose(2, 2),
            layers.UpSampling2D(2),
            layers.GlobalAveragePooling2D(),
            layers.LeakyReLU(0.2),
            layers.Dropout(0.0),
            layers.Dense(1),
        ],
        name="images",
    )


def words(keras: Any) -> Any:
    layers = keras.layers
    given = keras.Input((5,), dtype="int32", name="given")
    vectors = layers.Embedding(9, 4, mask_zero=True, name="vectors")(given)
    rows = layers.RNN(layers.SimpleRNNCell(3), return_sequences=True, name="rows")(vectors)
    last = layers.RNN([layers.SimpleRNNCell(2), layers.SimpleRNNCell(3)], name="last")(rows)
    plain = layers.SimpleRNN(2, name="plain")(vectors)
    joined = layers.Concatenate(name="joined")([last, plain])
    return keras.models.Model(given, layers.Dense(1, name="end")(joined), name="words")


def shared(keras: Any) -> Any:
    layers = keras.layers
    given = keras.Input((6,), name="given")
    parts = layers.Reshape((2, 3), name="parts")(given)
    permuted = layers.Permute((2, 1), name="permuted")(parts)
    dense = layers.Dense(2, kernel_constraint="max_norm", name="dense")
    product = layers.Dot(1, name="product")([dense(permuted), dense(dense(permuted))])
    sloped = layers.PReLU(shared_axes=[1], name="sloped")(product)
    inner = keras.models.Sequential([layers.Flatten(), layers.Dense(1)], name="inner")
    return keras.models.Model(given, inner(sloped), name="shared")


MODELS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "images": (images, IMAGES),
    "words": (words, WORDS),
    "shared": (shared, X),
}
COMPILED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "names": lambda keras: {
        "optimizer": keras.optimizers["adam"](0.01),
        "loss": "mse",
        "metrics": ["mae"],
    },
    "objects": lambda keras: {
        "optimizer": keras.optimizers["rmsprop"](0.01, momentum=0.5),
        "loss": keras.losses.MeanSquaredError(),
        "metrics": [keras.metrics.RootMeanSquaredError(name="root")],
        "loss_weights": [0.5],
    },
    "momentum": lambda keras: {
        "optimizer": keras.optimizers["sgd"](0.01, momentum=0.5, clipnorm=1.0),
        "loss": "mean_absolute_error",
        "weighted_metrics": ["mse"],
    },
}


def fit(model: Any, x: Any) -> list[Any]:
    """Return the losses of two passes, and the outputs after them."""
    targets = np.linspace(-1, 1, len(x), dtype=np.float32)[:, np.newaxis]
    options = {"batch_size": 4, "epochs": 2, "shuffle": False, "verbose": 0}
    history = model.fit(x, targets, **options).history
    return [np.array(history["loss"]), model.predict(x)]


def compare(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "arguments"), list(zip(MODELS, COMPILED, strict=True)))
def test_capstan_continues_a_model_of_tensorflow(
    keras: Any, name: str, arguments: str, tmp_path: pathlib.Path
) -> None:
    make, x = MODELS[name]
    path = str(tmp_path / "model.h5")
    first = make(keras)
    first.compile(**COMPILED[arguments](keras))
    fit(first, x)
    keras.models.save_model(first, path)
    outputs, after = first.predict(x), fit(first, x)
    with capstan.Graph().as_default():
        again = capstan.keras.models.load_model(path)
        np.testing.assert_allclose(again.predict(x), outputs, rtol=1e-4, atol=1e-6)
        compare(fit(again, x), after)
        capstan.keras.backend.set_session(None)


@pytest.mark.parametrize(("name", "arguments"), list(zip(MODELS, COMPILED, strict=True)))
def test_tensorflow_continues_a_model_of_capstan(
    keras: Any, name: str, arguments: str, tmp_path: pathlib.Path
) -> None:
    make, x = MODELS[name]
    path = str(tmp_path / "model.h5")
    with capstan.Graph().as_default():
        first = make(Ours)
        first.compile(**COMPILED[arguments](Ours))
        fit(first, x)
        first.save(path)
        outputs, after = first.predict(x), fit(first, x)
        capstan.keras.backend.set_session(None)
    again = keras.models.load_model(path)
    np.testing.assert_allclose(again.predict(x), outputs, rtol=1e-4, atol=1e-6)
    compare(fit(again, x), after)


def test_a_sequence_without_an_input_goes_both_ways(keras: Any, tmp_path: pathlib.Path) -> None:
    def made(keras: Any, path: pathlib.Path) -> Any:
        model = keras.models.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
        model.compile(keras.optimizers["adam"](), "mse")
        fit(model, X)
        keras.models.save_model(model, str(path))
        return model.predict(X)

    theirs = made(keras, tmp_path / "theirs.h5")
    with capstan.Graph().as_default():
        ours = made(Ours, tmp_path / "ours.h5")
        again = capstan.keras.models.load_model(tmp_path / "theirs.h5")
        np.testing.assert_allclose(again.predict(X), theirs, rtol=1e-4, atol=1e-6)
        capstan.keras.backend.set_session(None)
    again = keras.models.load_model(str(tmp_path / "ours.h5"))
    np.testing.assert_allclose(again.predict(X), ours, rtol=1e-4, atol=1e-6)
