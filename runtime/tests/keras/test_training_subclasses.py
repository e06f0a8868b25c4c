"""Subclasses of `tf.keras.Model` train, and get their inputs from the data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from keras_training import X, Y, dataset

import capstan as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


class Subclass(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.scale = keras.layers.BatchNormalization()
        self.drop, self.last = keras.layers.Dropout(0.9), keras.layers.Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.last(self.drop(self.scale(inputs)))


@pytest.mark.parametrize("given", [lambda: (X, Y), lambda: (dataset(5),)])
def test_a_subclass_gets_its_inputs_from_the_data(given: Any) -> None:
    model = Subclass()
    model.compile(tf.train.AdamOptimizer(0.01), "mse")
    model.fit(*given(), epochs=2, verbose=0)
    # Only training changes the moving averages, and only training drops elements.
    mean = dict(zip([v.op.name for v in model.weights], model.get_weights(), strict=True))
    name = next(name for name in mean if name.endswith("moving_mean"))
    assert np.abs(mean[name]).max() > 0
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    model.evaluate(X, Y, verbose=0)
    np.testing.assert_array_equal(keras.backend.get_value(
        next(v for v in model.weights if v.op.name == name)), mean[name])  # fmt: skip


def test_a_subclass_without_any_loss_is_refused_when_it_trains() -> None:
    class Bare(keras.Model):
        def call(self, inputs: Any) -> Any:
            return inputs * 2

    model = Bare()
    model.compile("sgd")
    with pytest.raises(ValueError, match="no loss to optimize"):
        model.fit(X, verbose=0)


@pytest.mark.parametrize("is_sequence", [False, True])
def test_a_subclass_gets_its_inputs_from_the_first_batch_of_a_generator(is_sequence: bool) -> None:
    class Batches(keras.utils.Sequence):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return X[5 * index : 5 * index + 5], Y[5 * index : 5 * index + 5]

    def batches() -> Any:
        pairs = Batches()
        return pairs if is_sequence else iter([pairs[0], pairs[1]])

    model = Subclass()
    model.compile("sgd", "mse")
    expected = model.evaluate(batches(), steps=2, verbose=0)
    assert expected == pytest.approx(np.mean((model.predict(X)[:, 0] - Y.ravel()) ** 2), rel=1e-4)
    model.fit(batches(), steps_per_epoch=2, verbose=0)
    assert model.predict(batches(), steps=2).shape == (10, 1)


def test_a_subclass_whose_training_defaults_to_false_trains_with_dropout() -> None:
    class Dropping(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.drop = keras.layers.Dropout(0.5)

        def call(self, inputs: Any, training: Any = False) -> Any:
            return self.drop(inputs, training=training)

    model = Dropping()
    ones = np.ones((20, 3), np.float32)
    model.compile("sgd", "mse")
    assert model.evaluate(ones, ones, verbose=0) == 0
    assert model.train_on_batch(ones, ones) == 1
    np.testing.assert_array_equal(model.predict(ones), ones)


def test_build_passes_training_if_call_requires_it() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, inputs: Any, training: Any) -> Any:
            return self.dense(inputs)

    class Two(Own):
        def call(self, inputs: Any, other: Any) -> Any:
            return self.dense(inputs) + other

    model = Own()
    model.build((None, 3))
    assert len(model.weights) == 2
    with pytest.raises(ValueError, match="cannot build your model if it has positional"):
        Two().build((None, 3))


def test_a_model_with_other_required_arguments_cannot_be_fitted() -> None:
    class Sum(keras.Model):
        def call(self, first: Any, second: Any, training: Any) -> Any:
            return first + second

    model = Sum()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"positional arguments, found: \['second'\]"):
        model.fit(X, Y)
