"""Names and configurations of Keras's objects, its settings, and its functions of arrays."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
VALUES = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


ACTIVATIONS: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "exponential": np.exp,
    "linear": lambda x: x,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.e2e
def test_an_activation_is_found_by_its_name(name: str) -> None:
    function = keras.activations.get(name)
    np.testing.assert_allclose(
        value(function(tf.constant(VALUES))), ACTIVATIONS[name](VALUES), 1e-5, 1e-6
    )
    assert keras.activations.serialize(function) == name


@pytest.mark.parametrize(
    "name, config",
    [
        ("glorot_uniform", {"seed": 3}),
        ("he_normal", {}),
        ("RandomNormal", {"mean": 0.0, "stddev": 0.5}),
        ("TruncatedNormal", {"mean": 0.0, "stddev": 0.05}),
        ("random_uniform", {"minval": 0, "maxval": 1}),
        ("zeros", {}),
        ("Constant", {"value": 3}),
    ],
)
def test_an_initializer_is_made_by_its_name_and_configuration(name: str, config: Any) -> None:
    made = keras.initializers.get({"class_name": name, "config": config})
    again = keras.initializers.deserialize(keras.initializers.serialize(made))
    assert type(again) is type(made)
    assert {**made.get_config(), **config} == again.get_config()
    assert type(keras.initializers.get(name)) is type(made) or name == "Constant"


@pytest.mark.e2e
def test_regularizers_and_constraints_compute_what_their_names_say() -> None:
    x = tf.constant([[3.0, -4.0]])
    assert value(keras.regularizers.l1(0.5)(x)) == 3.5
    assert value(keras.regularizers.l2(0.5)(x)) == 12.5
    assert value(keras.regularizers.get("l1_l2")(x)) == pytest.approx(0.07 + 0.25)
    np.testing.assert_allclose(value(keras.constraints.MaxNorm(1, axis=1)(x)), [[0.6, -0.8]])
    np.testing.assert_allclose(value(keras.constraints.unit_norm(axis=1)(x)), [[0.6, -0.8]])
    assert value(keras.constraints.get("non_neg")(x)).tolist() == [[3, 0]]
    kept = keras.constraints.MinMaxNorm(6, 10, rate=0.5, axis=1)(x)
    np.testing.assert_allclose(value(kept), [[3.3, -4.4]], 1e-5)


def test_objects_of_the_program_are_found_in_their_scope() -> None:
    def double(x: Any) -> Any:
        return x * 2

    with keras.utils.custom_object_scope({"double": double}):
        assert keras.activations.get("double") is double
    with pytest.raises(ValueError, match="Unknown activation function: double"):
        keras.activations.get("double")


def test_the_settings_are_those_that_were_set() -> None:
    backend = keras.backend
    assert (backend.floatx(), backend.epsilon()) == ("float32", 1e-7)
    assert backend.image_data_format() == "channels_last"
    backend.set_floatx("float64")
    try:
        assert keras.Input((2,)).dtype == tf.float64
    finally:
        backend.set_floatx("float32")
    with pytest.raises(ValueError, match="Unknown floatx type: int8"):
        backend.set_floatx("int8")
    assert backend.int_shape(tf.placeholder(tf.float32, [None, 2])) == (None, 2)


def test_labels_become_rows_with_one_1() -> None:
    assert keras.utils.to_categorical([[1], [2]]).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert keras.utils.to_categorical([[0, 1]], 2).tolist() == [[[1, 0], [0, 1]]]
    assert keras.utils.normalize(np.array([[3.0, 4.0], [0, 0]])).tolist() == [[0.6, 0.8], [0, 0]]


def radial(kernel: Any) -> Any:
    """Return a kernel with rings, made by the steps of TensorFlow's constraint."""
    size = len(kernel)
    start = size // 2
    center = kernel[start - 1 : start, start - 1 : start]
    made = center if size % 2 else center + np.zeros((2, 2))
    for index in range(0 if size % 2 else 1, start):
        made = np.pad(made, 1, constant_values=kernel[start + index, start + index])
    return made


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_a_radial_constraint_makes_rings(size: int) -> None:
    kernels = np.random.RandomState(size).uniform(-1, 1, (size, size, 2, 3)).astype(np.float32)
    constraint = keras.constraints.get("radial_constraint")
    actual = value(constraint(tf.constant(kernels)))
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(actual[:, :, *place], radial(kernels[:, :, *place]))


def test_a_radial_constraint_needs_kernels_that_are_squares() -> None:
    for shape in ((3, 3, 2), (2, 3, 1, 1)):
        with pytest.raises(ValueError, match=r"rank 4|squares"):
            keras.constraints.RadialConstraint()(tf.zeros(shape))


def doubled(weights: Any) -> Any:
    return 2.0 * tf.reduce_sum(weights)


def halves(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    return tf.fill(shape, tf.constant(0.5, dtype))


def test_functions_of_the_program_are_found_by_their_names() -> None:
    options = {
        "kernel_regularizer": doubled,
        "kernel_initializer": halves,
        "kernel_constraint": tf.abs,
        "activation": doubled,
    }
    names = {"doubled": doubled, "halves": halves, "abs": tf.abs}
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,), **options)])
    for made in (
        keras.models.model_from_json(model.to_json(), custom_objects=names),
        keras.Sequential.from_config(model.get_config(), custom_objects=names),
    ):
        layer = made.layers[0]
        assert layer.kernel_regularizer is doubled
        assert layer.kernel_constraint is tf.abs
        np.testing.assert_array_equal(made.get_weights()[0], np.full((3, 2), 0.5))
    with keras.utils.custom_object_scope(names):
        assert keras.initializers.get("halves") is halves
        assert keras.regularizers.deserialize("doubled") is doubled
