"""Operations between the layers of a model are layers of the model."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

POINTS = np.linspace(-1, 1, 40).reshape(10, 4).astype(np.float32)
OTHERS = POINTS[::-1].copy()
TARGETS = np.ones((10, 2), np.float32)


def dense(units: int) -> Any:
    return tf.keras.layers.Dense(units, kernel_initializer=tf.keras.initializers.Constant(0.1))


def with_operations() -> Any:
    """Return a model of two inputs whose layers are connected by operations."""
    x, y = tf.keras.Input((4,), name="x"), tf.keras.Input((4,), name="y")
    joined = tf.concat([tf.nn.relu(dense(3)(x)) * 2.0 + 1.0, y], axis=-1)
    first, second = tf.split(joined, [3, 4], axis=1)
    out = dense(2)(tf.reduce_sum(second, axis=1, keepdims=True) + first)
    return tf.keras.Model([x, y], tf.math.sigmoid(out))


def with_functions() -> Any:
    """Return the same model, whose operations are in Lambda layers."""
    x, y = tf.keras.Input((4,), name="x"), tf.keras.Input((4,), name="y")
    scaled = tf.keras.layers.Lambda(lambda value: tf.nn.relu(value) * 2.0 + 1.0)(dense(3)(x))
    joined = tf.keras.layers.Lambda(
        lambda pair: tf.reduce_sum(pair[1], axis=1, keepdims=True) + pair[0]
    )([scaled, y])
    return tf.keras.Model([x, y], tf.keras.layers.Activation("sigmoid")(dense(2)(joined)))


def trained(model: Any) -> list[float]:
    model.compile("sgd", "mse")
    history = model.fit(
        [POINTS, OTHERS], TARGETS, epochs=3, batch_size=5, verbose=0, shuffle=False
    ).history
    return [float(loss) for loss in history["loss"]]


def test_a_model_with_operations_trains_as_one_with_lambda_layers() -> None:
    losses = []
    for build in (with_operations, with_functions):
        with tf.Graph().as_default():
            losses.append(trained(build()))
    assert losses[0][0] > losses[0][-1]
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_each_operation_is_a_layer_with_its_name() -> None:
    with tf.Graph().as_default():
        names = [layer.name for layer in with_operations().layers]
    assert [name.removeprefix("tf_op_layer_") for name in names if name.startswith("tf_op")] == [
        "Relu", "mul", "add", "concat", "split", "Sum", "add_1", "Sigmoid",
    ]  # fmt: skip
    assert {"x", "y", "dense", "dense_1"} <= set(names)


@pytest.mark.parametrize("through", ["to_json", "get_config", "clone"])
def test_a_copy_of_the_model_computes_the_same(through: str) -> None:
    with tf.Graph().as_default():
        model = with_operations()
        trained(model)
        wanted, weights = model.predict([POINTS, OTHERS]), model.get_weights()
        text, config = model.to_json(), model.get_config()
        clone = tf.keras.models.clone_model(model) if through == "clone" else None
        if clone is not None:
            clone.set_weights(weights)
            np.testing.assert_array_equal(clone.predict([POINTS, OTHERS]), wanted)
            return
    with tf.Graph().as_default():
        if through == "to_json":
            copy = tf.keras.models.model_from_json(text)
        else:
            copy = tf.keras.Model.from_config(config)
        copy.set_weights(weights)
        np.testing.assert_array_equal(copy.predict([POINTS, OTHERS]), wanted)


def test_a_model_with_operations_is_a_layer_of_another_model() -> None:
    with tf.Graph().as_default():
        inner, x = with_operations(), tf.keras.Input((4,))
        outer = tf.keras.Model(x, inner([x, x]) - 1.0)
        np.testing.assert_allclose(
            outer.predict(POINTS), inner.predict([POINTS, POINTS]) - 1, rtol=1e-6
        )


def test_a_variable_of_an_operation_is_its_value_in_a_configuration() -> None:
    with tf.Graph().as_default():
        scale, x = (
            tf.get_variable("scale", initializer=3.0, use_resource=True),
            tf.keras.Input((4,)),
        )
        model = tf.keras.Model(x, dense(2)(x) * scale)
        tf.keras.backend.get_session().run(scale.assign(5.0))
        wanted, config, weights = model.predict(POINTS), model.get_config(), model.get_weights()
        assert len(weights) == 2
    with tf.Graph().as_default():
        copy = tf.keras.Model.from_config(config)
        copy.set_weights(weights)
        np.testing.assert_allclose(copy.predict(POINTS), wanted, rtol=1e-6)


def test_an_operation_that_does_not_follow_from_the_inputs_is_refused() -> None:
    with tf.Graph().as_default():
        x = tf.keras.Input((4,))
        fed = tf.placeholder(tf.float32, (None, 4))
        for output in (fed + 1.0, x + fed, tf.keras.Input((4,)) + x, tf.constant([[1.0]]) * 2.0):
            with pytest.raises(ValueError, match="Graph disconnected"):
                tf.keras.Model(x, output)


def test_a_loop_is_refused() -> None:
    with tf.Graph().as_default():
        x = tf.keras.Input((4,))
        _, looped = tf.while_loop(
            lambda i, value: i < 3, lambda i, value: (i + 1, value * 2.0), [0, dense(4)(x)]
        )
        with pytest.raises(
            ValueError, match="Call loops, branches and functions inside of a layer"
        ):
            tf.keras.Model(x, looped)
