"""Models of Keras that train on tensors of the graph (python/keras/engine/training.py)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from keras_training import Reference, X, Y, check, linear

import capstan as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def in_turn() -> tuple[Any, Any]:
    """Return tensors with the examples 0 and 1, then 2 and 3, and so on."""
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2).repeat()
    found: tuple[Any, Any] = tf.data.make_one_shot_iterator(data).get_next()
    return found


def test_each_step_computes_the_tensors_of_the_data_again() -> None:
    model, reference = linear(), Reference()
    history = model.fit(*in_turn(), epochs=2, steps_per_epoch=2, verbose=0).history
    losses = [reference.step(X[n : n + 2], Y[n : n + 2]) for n in (0, 2, 4, 6)]
    expected = [np.mean(losses[:2]), np.mean(losses[2:])]
    np.testing.assert_allclose(history["loss"], expected, rtol=1e-4)
    check(model, reference)


def test_tensors_have_weights_and_validation_data() -> None:
    model, reference = linear(), Reference()
    weights = np.linspace(0, 1, len(X)).astype(np.float32)
    x, y = tf.constant(X), tf.constant(Y)
    history = model.fit(
        x,
        y,
        steps_per_epoch=1,
        sample_weight=tf.constant(weights),
        validation_data=(x, y),
        validation_steps=2,
        verbose=0,
    ).history
    assert history["loss"] == [pytest.approx(reference.step(X, Y, weights), rel=1e-4)]
    assert history["val_loss"] == [pytest.approx(reference.loss(X, Y), rel=1e-4)]


def test_tensors_are_evaluated_and_predicted_step_by_step() -> None:
    model, reference = linear(), Reference()
    assert model.evaluate(tf.constant(X), tf.constant(Y), steps=3, verbose=0) == pytest.approx(
        reference.loss(X, Y), rel=1e-4
    )
    expected = model.predict(X)
    found = model.predict(tf.constant(X), steps=2)
    np.testing.assert_allclose(found, np.concatenate([expected, expected]), rtol=1e-5)
    x, y = in_turn()
    np.testing.assert_allclose(model.predict_on_batch(x), expected[:2], rtol=1e-5)
    assert model.train_on_batch(x, y) == pytest.approx(reference.step(X[2:4], Y[2:4]), rel=1e-4)
    assert model.test_on_batch(x, y) == pytest.approx(reference.loss(X[4:6], Y[4:6]), rel=1e-4)


def test_variables_and_dictionaries_of_tensors_are_data() -> None:
    one, other = keras.Input(3, name="one"), keras.Input(3, name="other")
    model = keras.Model([one, other], keras.layers.add([one, other], name="sum"))
    model.compile("sgd", "mse")
    data = {"one": keras.backend.variable(X), "other": tf.constant(X)}
    assert model.evaluate(data, {"sum": tf.constant(2 * X)}, steps=1, verbose=0) == 0
    assert model.evaluate(data, 2 * X, steps=1, verbose=0) == 0


def test_a_model_without_inputs_gets_those_of_the_tensors() -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(*in_turn(), steps_per_epoch=2, verbose=0)
    assert [each.shape for each in model.get_weights()] == [(3, 1), (1,)]


def test_tensors_need_a_number_of_steps() -> None:
    model, x, y = linear(), tf.constant(X), tf.constant(Y)
    with pytest.raises(ValueError, match="specify the `steps_per_epoch`"):
        model.fit(x, y)
    with pytest.raises(ValueError, match="cannot use `validation_split`"):
        model.fit(x, y, steps_per_epoch=1, validation_split=0.5)
    with pytest.raises(ValueError, match="`validation_steps`"):
        model.fit(x, y, steps_per_epoch=1, validation_data=(x, y), verbose=0)


def test_training_stops_with_a_warning_when_the_tensors_have_no_more_data(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2).take(3)
    x, y = tf.data.make_one_shot_iterator(data).get_next()
    history = linear().fit(x, y, steps_per_epoch=2, epochs=3, verbose=0).history
    assert len(history["loss"]) == 2
    assert "ran out of data" in caplog.text


@pytest.mark.parametrize("is_dataset", [True, False])
def test_only_arrays_are_split_for_the_validation(is_dataset: bool) -> None:
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    batch = np.ones((4, 2)), np.ones((4, 1))
    data = tf.data.Dataset.from_tensors(batch) if is_dataset else iter([batch])
    with pytest.raises(ValueError, match="`validation_split` argument is not supported"):
        model.fit(data, steps_per_epoch=1, validation_split=0.5)
