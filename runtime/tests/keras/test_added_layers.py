"""Losses and metrics that are added to a model of layers are computed again for other inputs."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
X = np.linspace(-1, 1, 30).reshape(10, 3).astype(np.float32)
Y = np.zeros((10, 1), np.float32)


def dense(units: int) -> Any:
    return keras.layers.Dense(units, kernel_initializer=keras.initializers.Constant(0.5))


def inner() -> Any:
    """Return a model with the mean of the squares of its outputs as loss and as metric."""
    inputs = keras.Input((3,))
    outputs = dense(2)(inputs)
    model = keras.Model(inputs, outputs)
    squares = tf.reduce_mean(tf.square(outputs))
    model.add_loss(squares)
    model.add_metric(squares, "mean", "squares")
    return model


def mean_square(values: Any) -> float:
    return float(np.mean(np.square(values)))


def test_a_model_inside_adds_the_loss_and_the_metric_of_the_inputs_that_it_gets() -> None:
    with tf.Graph().as_default():
        model, inputs = inner(), keras.Input((3,))
        outer = keras.Model(inputs, dense(1)(model(inputs * 2.0)))
        outer.compile("sgd", "mse")
        assert outer.metrics_names == ["loss", "squares"]
        total, squares = outer.evaluate(X, Y, verbose=0)
        assert squares == pytest.approx(mean_square(model.predict(2 * X)), rel=1e-5)
        assert total == pytest.approx(squares + mean_square(outer.predict(X)), rel=1e-5)


def test_the_model_itself_has_the_loss_of_its_own_inputs() -> None:
    with tf.Graph().as_default():
        model, inputs = inner(), keras.Input((3,))
        model(inputs)
        model.compile("sgd", None)
        assert [layer.name for layer in model.layers][-2:] == ["add_loss", "add_metric"]
        found = model.evaluate(X, verbose=0)
        np.testing.assert_allclose(found, [mean_square(model.predict(X))] * 2, rtol=1e-5)


@pytest.mark.parametrize("through", ["clone", "get_config"])
def test_a_copy_has_the_loss_and_the_metric(through: str) -> None:
    with tf.Graph().as_default():
        model = inner()
        if through == "clone":
            copy = keras.models.clone_model(model)
        else:
            copy = keras.Model.from_config(model.get_config())
        copy.set_weights([np.full((3, 2), 0.25, np.float32), np.ones(2, np.float32)])
        copy.compile("sgd", None)
        found = copy.evaluate(X, verbose=0)
        np.testing.assert_allclose(found, [mean_square(copy.predict(X))] * 2, rtol=1e-5)


def test_the_mean_of_a_loss_with_axes_counts() -> None:
    with tf.Graph().as_default():
        inputs = keras.Input((3,))
        outputs = dense(2)(inputs)
        model = keras.Model(inputs, outputs)
        model.add_loss(tf.reduce_mean(tf.square(outputs), axis=-1))
        model.compile(keras.optimizers.SGD(0.1))
        before = mean_square(model.predict(X))
        assert model.evaluate(X, verbose=0) == pytest.approx(before, rel=1e-5)
        losses = model.fit(X, epochs=3, batch_size=10, verbose=0).history["loss"]
        assert losses[0] == pytest.approx(before, rel=1e-5)
        assert losses[2] < losses[0]


def test_a_loss_that_no_operation_computes_again_stays_as_it_is() -> None:
    with tf.Graph().as_default():
        inputs = keras.Input((3,))
        model = keras.Model(inputs, dense(2)(inputs))
        weight = model.layers[-1].kernel
        model.add_loss(lambda: 3.0 * tf.reduce_sum(weight))
        model.compile("sgd", None)
        assert model.evaluate(X, verbose=0) == pytest.approx(3.0 * 6 * 0.5)
        assert len(model.layers) == 2


def test_a_configuration_keeps_the_order_of_added_layers() -> None:
    first, second = keras.Input((3,)), keras.Input((3,))
    dense = keras.layers.Dense(2)
    model = keras.Model([first, second], dense(first))
    difference = model.output - dense(0.5 * second)
    for distance, name in ((tf.square, "l2"), (tf.abs, "l1")):
        loss = tf.reduce_mean(tf.reduce_sum(distance(difference), -1))
        model.add_loss(loss)
        model.add_metric(loss, aggregation="mean", name=name)
    names = [layer.name for layer in model.layers]
    for again in (keras.Model.from_config(model.get_config()), keras.models.clone_model(model)):
        assert [layer.name for layer in again.layers] == names
