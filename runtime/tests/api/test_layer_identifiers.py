"""Layers of `tf.layers` whose arguments are names, and their configurations."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

LAYERS: dict[str, Any] = {
    "Dense": lambda: tf.layers.Dense(3, activation=tf.nn.relu, bias_regularizer="l2"),
    "Dropout": lambda: tf.layers.Dropout(0.3),
    "Flatten": lambda: tf.layers.Flatten(),
    "BatchNormalization": lambda: tf.layers.BatchNormalization(momentum=0.5),
    "Conv1D": lambda: tf.layers.Conv1D(3, 2, activation="tanh"),
    "Conv2D": lambda: tf.layers.Conv2D(3, (2, 1), kernel_initializer="he_normal"),
    "Conv3D": lambda: tf.layers.Conv3D(3, 2, dilation_rate=2),
    "Conv2DTranspose": lambda: tf.layers.Conv2DTranspose(3, 2, strides=2),
    "Conv3DTranspose": lambda: tf.layers.Conv3DTranspose(3, 2, padding="same"),
    "SeparableConv1D": lambda: tf.layers.SeparableConv1D(3, 2, depth_multiplier=2),
    "SeparableConv2D": lambda: tf.layers.SeparableConv2D(3, 2, pointwise_constraint="non_neg"),
    "MaxPooling2D": lambda: tf.layers.MaxPooling2D(2, 1, name="pool"),
    "AveragePooling3D": lambda: tf.layers.AveragePooling3D(2, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_configuration_makes_an_equal_layer(name: str) -> None:
    layer = LAYERS[name]()
    config = layer.get_config()
    copy = type(layer).from_config(config)
    assert copy.get_config() == config
    assert type(copy) is getattr(tf.layers, name)


def test_a_configuration_has_the_arguments_of_tensorflow() -> None:
    config = tf.layers.Dense(3, tf.nn.relu, kernel_initializer="ones", name="hidden").get_config()
    assert config == {
        "name": "hidden",
        "trainable": True,
        "dtype": None,
        "units": 3,
        "activation": "relu",
        "use_bias": True,
        "kernel_initializer": {"class_name": "Ones", "config": {"dtype": "float32"}},
        "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
        "kernel_regularizer": None,
        "bias_regularizer": None,
        "activity_regularizer": None,
        "kernel_constraint": None,
        "bias_constraint": None,
    }


def test_functions_take_the_names_that_keras_knows() -> None:
    made = tf.layers.dense(
        tf.constant([[1.0, -2.0]]),
        2,
        activation="relu",
        kernel_initializer="ones",
        bias_initializer=tf.keras.initializers.Constant(3.0),
        kernel_regularizer="l2",
    )
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(made), [[2.0, 2.0]])
        assert session.run(loss) == pytest.approx(0.04)
    with pytest.raises(ValueError, match="Unknown activation function: rellu"):
        tf.layers.Dense(2, activation="rellu")


def test_a_layer_of_the_program_keeps_its_own_attributes() -> None:
    class Own(tf.layers.Layer):
        def __init__(self, activation: str) -> None:
            super().__init__()
            self.activation = activation

    assert Own("relu").activation == "relu"
    with pytest.raises(NotImplementedError, match="Own has activation"):
        Own("relu").get_config()
