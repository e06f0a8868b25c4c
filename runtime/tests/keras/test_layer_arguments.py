"""Arguments of layers: transposed convolutions, normalization and merges."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

layers = tf.keras.layers


def test_the_padding_of_the_outputs_adds_to_their_size() -> None:
    images = tf.keras.Input((4, 5, 3))
    for padding, expected in (("same", [None, 8, 9, 2]), ("valid", [None, 10, 11, 2])):
        layer = layers.Conv2DTranspose(2, 3, 2, padding, output_padding=(1, 0))
        assert layer(images).shape.as_list() == expected
    with pytest.raises(ValueError, match="must be greater than output padding"):
        layers.Conv2DTranspose(2, 3, 2, output_padding=2)


@pytest.mark.parametrize("is_first", [False, True])
def test_the_elements_of_a_dilated_filter_are_apart(is_first: bool) -> None:
    options: Any = {"data_format": "channels_first" if is_first else "channels_last"}
    values = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3)
    layer = layers.Conv2DTranspose(
        1, 3, padding="same", dilation_rate=2, kernel_initializer="ones", **options
    )
    outputs = layer(tf.constant(values.transpose(0, 3, 1, 2) if is_first else values))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(outputs)
    odd, even = [192, 228, 192, 228], [336, 372, 336, 372]
    assert found.reshape(4, 4).tolist() == [odd, even, odd, even]


def test_an_axis_is_normalized_once() -> None:
    with pytest.raises(ValueError, match="Duplicate axis"):
        layers.LayerNormalization(axis=[-1, -1]).build((2, 2, 2))


def test_one_tensor_cannot_be_merged() -> None:
    for merge in (layers.add, layers.concatenate):
        with pytest.raises(ValueError, match="at least 2 inputs"):
            merge(tf.keras.Input((4,)))


def test_the_states_of_a_layer_are_set_in_the_session_of_keras() -> None:
    model = tf.keras.Sequential([layers.SimpleRNN(2, stateful=True, batch_input_shape=(1, 3, 2))])
    layer = model.layers[0]
    batch = np.ones((1, 3, 2))
    first = model.predict(batch)
    assert not np.array_equal(model.predict(batch), first)
    layer.reset_states()
    np.testing.assert_array_equal(model.predict(batch), first)
    layer.reset_states(np.ones((1, 2)))
    assert not np.array_equal(model.predict(batch), first)


def test_wrappers_take_layers_that_keras_does_not_know() -> None:
    class Doubled(layers.SimpleRNN):
        def call(self, inputs: Any) -> Any:
            return tf.concat([inputs, inputs], -1)

        def compute_output_shape(self, input_shape: Any) -> Any:
            return [*input_shape[:-1], 2 * input_shape[-1]]

    outputs = layers.Bidirectional(Doubled(1))(tf.keras.Input((2, 4)))
    assert outputs.shape.as_list() == [None, 2, 16]
    shape = layers.TimeDistributed(Doubled(1)).compute_output_shape((None, 5, 3, 4))
    assert shape.as_list() == [None, 5, 3, 8]
    assert layers.SimpleRNN(3, implementation=2).units == 3
