"""`tf.keras.layers.Bidirectional` with states and constants
(python/keras/layers/wrappers_test.py).
"""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
keras = tf.keras
layers = keras.layers
RANDOM = np.random.default_rng(7)
STEPS, GIVEN = RANDOM.normal(size=(2, 4, 3)), RANDOM.normal(size=(2, 3))
STATES = [RANDOM.normal(size=(2, 3)) for _ in range(2)]


class Scaled(layers.Layer):
    """A cell that adds up its inputs times the constant."""

    state_size = output_size = 3

    def call(self, inputs: Any, states: Any, constants: Any = None) -> Any:
        total = states[0] + inputs * constants[0]
        return total, [total]


def expected(states: list[Any]) -> Any:
    total = (STEPS * GIVEN[:, np.newaxis]).sum(1)
    return np.concatenate([states[0] + total, states[1] + total], -1)


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("has_states", [False, True])
def test_both_directions_get_the_constants(is_listed: bool, has_states: bool) -> None:
    x, constant = keras.Input((4, 3)), keras.Input(3)
    states = [keras.Input(3), keras.Input(3)] if has_states else []
    with keras.utils.custom_object_scope({"Scaled": Scaled}):
        layer = layers.Bidirectional(layers.RNN(Scaled()))
        first = layer(x, initial_state=states or None, constants=constant)
        assert layer.get_config()["num_constants"] == 1
        copy = layers.Bidirectional.from_config(layer.get_config())
    output = copy([x, *states, constant]) if is_listed else first
    model = keras.Model([x, *states, constant], output)
    given = STATES if has_states else []
    wanted = expected(given or [0.0, 0.0])
    np.testing.assert_allclose(model.predict([STEPS, *given, GIVEN]), wanted, rtol=1e-5)


def test_the_config_of_a_recurrent_layer_knows_its_constants() -> None:
    x, constant = keras.Input((4, 3)), keras.Input(3)
    with keras.utils.custom_object_scope({"Scaled": Scaled}):
        layer = layers.RNN(Scaled())
        assert "num_constants" not in layer.get_config()
        layer(x, constants=constant)
        model = keras.Model(
            [x, constant], layers.RNN.from_config(layer.get_config())([x, constant])
        )
        loaded = keras.Model.from_config(model.get_config())
    for each in (model, loaded):
        np.testing.assert_allclose(each.predict([STEPS, GIVEN]), expected([0.0, 0.0])[:, :3], 1e-5)


def test_the_initial_state_is_a_list() -> None:
    with pytest.raises(ValueError, match="must be a list of the states"):
        layers.Bidirectional(layers.LSTM(3))(tf.ones([2, 4, 3]), initial_state=tf.ones([2, 3]))


def test_a_layer_of_the_program_says_its_shapes() -> None:
    class Doubled(layers.SimpleRNN):
        def call(self, inputs: Any) -> Any:
            return tf.concat([inputs, inputs], axis=-1)

        def compute_output_shape(self, input_shape: Any) -> Any:
            *front, size = input_shape
            return (*front, 2 * size)

    assert layers.Bidirectional(Doubled(1)).compute_output_shape((None, 2, 4)).as_list() == [
        None,
        2,
        16,
    ]
    states = layers.Bidirectional(layers.LSTM(3, return_state=True), merge_mode=None)
    shapes = [each.as_list() for each in states.compute_output_shape((5, 2, 4))]
    assert shapes == [[5, 3]] * 6
