"""Layers of Keras for places and films: LocallyConnected1D, LocallyConnected2D, ConvLSTM2D."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
layers = keras.layers
RANDOM = np.random.default_rng(3)
STEPS = RANDOM.normal(size=(2, 7, 3)).astype(np.float32)
IMAGES = RANDOM.normal(size=(2, 5, 6, 2)).astype(np.float32)
FILMS = RANDOM.normal(size=(2, 3, 4, 5, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def outputs(layer: Any, values: Any, **options: Any) -> Any:
    made = layer(tf.constant(values), **options)
    return keras.backend.get_session().run(made)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_each_step_has_its_own_kernel(is_first: bool, stride: int) -> None:
    layout = "channels_first" if is_first else "channels_last"
    layer = layers.LocallyConnected1D(
        4, 3, stride, data_format=layout, bias_initializer="uniform", activation="relu"
    )
    given = STEPS.transpose(0, 2, 1) if is_first else STEPS
    found = outputs(layer, given)
    kernel, bias = layer.get_weights()
    count = (7 - 3) // stride + 1
    assert kernel.shape == (count, 9, 4)
    for place in range(count):
        part = slice(place * stride, place * stride + 3)
        seen = given[:, :, part] if is_first else given[:, part]
        expected = np.maximum(seen.reshape(2, -1) @ kernel[place] + bias[place], 0)
        output = found[:, :, place] if is_first else found[:, place]
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape(given.shape).as_list() == list(found.shape)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("strides", [(1, 1), (2, 1)])
def test_each_place_of_an_image_has_its_own_kernel(is_first: bool, strides: Any) -> None:
    layout = "channels_first" if is_first else "channels_last"
    layer = layers.LocallyConnected2D(3, (2, 3), strides, data_format=layout)
    given = IMAGES.transpose(0, 3, 1, 2) if is_first else IMAGES
    found = outputs(layer, given)
    kernel, bias = layer.get_weights()
    rows, columns = (5 - 2) // strides[0] + 1, (6 - 3) // strides[1] + 1
    assert kernel.shape == (rows * columns, 12, 3)
    assert bias.shape == (rows, columns, 3)
    for row in range(rows):
        for column in range(columns):
            tall = slice(row * strides[0], row * strides[0] + 2)
            wide = slice(column * strides[1], column * strides[1] + 3)
            seen = given[:, :, tall, wide] if is_first else given[:, tall, wide]
            expected = seen.reshape(2, -1) @ kernel[row * columns + column]
            output = found[:, :, row, column] if is_first else found[:, row, column]
            np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def test_an_equal_layer_comes_from_a_configuration() -> None:
    for layer in (
        layers.LocallyConnected1D(4, 3, 2, kernel_regularizer="l2"),
        layers.LocallyConnected2D(4, 3, use_bias=False),
        layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True, return_state=True),
        layers.AlphaDropout(0.25),
    ):
        config = layer.get_config()
        assert type(layer).from_config(config).get_config() == config
    assert config.keys() == {"name", "trainable", "dtype", "rate"}


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize(("length", "padding"), [(7, "valid"), (7, "same"), (6, "same")])
def test_a_kernel_of_all_pairs_leaves_out_those_that_are_not_connected(
    layout: str, length: int, padding: str
) -> None:
    is_first = layout == "channels_first"
    given = STEPS[:, :length].transpose(0, 2, 1) if is_first else STEPS[:, :length]
    options = {"padding": padding, "data_format": layout, "use_bias": False}
    full = layers.LocallyConnected1D(4, 3, 2, implementation=2, **options)
    found = outputs(full, given)
    (kernel,) = full.get_weights()
    inner = kernel.transpose(1, 0, 3, 2) if is_first else kernel
    assert inner.shape == (length, 3, found.shape[2 if is_first else 1], 4)
    for place in range(inner.shape[2]):
        first = place * 2 - (1 if padding == "same" else 0)
        part = slice(max(first, 0), first + 3)
        seen = (given.transpose(0, 2, 1) if is_first else given)[:, part]
        expected = np.einsum("bli,lif->bf", seen, inner[part, :, place])
        output = found[:, :, place] if is_first else found[:, place]
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_a_kernel_may_be_the_vector_of_the_connected_pairs(layout: str, padding: str) -> None:
    given = IMAGES.transpose(0, 3, 1, 2) if layout == "channels_first" else IMAGES
    arguments = (3, (3, 2), (2, 1), padding, layout)
    full = layers.LocallyConnected2D(*arguments, implementation=2)
    expected = outputs(full, given)
    kernel, bias = full.get_weights()
    ones = layers.LocallyConnected2D(
        *arguments, implementation=2, use_bias=False, kernel_initializer="ones"
    )
    # The outputs that a single input reaches are those that it is connected with.
    alone = np.eye(60, dtype=np.float32).reshape(60, *given.shape[1:])
    connected = outputs(ones, alone).reshape(60, -1) != 0
    vector = layers.LocallyConnected2D(*arguments, implementation=3)
    vector.build(given.shape)
    matrix = kernel.reshape(60, -1).T
    vector.set_weights([matrix[connected.T], bias])
    np.testing.assert_allclose(outputs(vector, given), expected, rtol=1e-4, atol=1e-5)
    assert layers.LocallyConnected2D.from_config(vector.get_config()).implementation == 3


@pytest.mark.parametrize("implementation", [1, 2, 3])
def test_every_implementation_trains(implementation: int) -> None:
    layer = layers.LocallyConnected1D(2, 3, implementation=implementation, input_shape=(7, 3))
    model = keras.Sequential([layer])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    losses = [model.train_on_batch(STEPS, np.ones((2, 5, 2))) for _ in range(3)]
    assert losses[2] < losses[0]


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: layers.LocallyConnected1D(2, 2, padding="same"), ValueError, "Invalid border mode"),
    (lambda: layers.LocallyConnected1D(2, 2, padding="full"), ValueError, "valid or same"),
    (lambda: layers.LocallyConnected2D(2, 2, implementation=4), ValueError, "implementation mode"),
    (
        lambda: layers.LocallyConnected1D(2, 2)(keras.Input((None, 3))),
        ValueError,
        "should be fully-defined",
    ),
    (lambda: layers.ConvLSTM2D(2, 2, unroll=True), TypeError, "Unrolling isn't possible"),
    (lambda: layers.ConvLSTM2D(2, 2, padding="full"), ValueError, "valid or same"),
    (
        lambda: layers.ConvLSTM2D(2, 2)(keras.Input((3, 4, 4, None))),
        ValueError,
        "channel dimension of the inputs",
    ),
    (
        lambda: layers.ConvLSTM2D(2, 2, stateful=True)(keras.Input((3, 4, 4, 1))),
        ValueError,
        "needs to know its batch size",
    ),
    (
        lambda: layers.ConvLSTM2D(2, 2, stateful=True)(
            keras.Input(batch_shape=(1, 3, None, None, 1))
        ),
        ValueError,
        "rows and columns",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_arguments_that_do_not_fit_are_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_films_may_have_their_channels_first() -> None:
    options = {"padding": "same", "return_sequences": True, "return_state": True}
    last = layers.ConvLSTM2D(3, 2, **options)
    first = layers.ConvLSTM2D(3, 2, data_format="channels_first", **options)
    expected = outputs(last, FILMS)
    given = FILMS.transpose(0, 1, 4, 2, 3)
    outputs(first, given)
    first.set_weights(last.get_weights())
    for found, value in zip(outputs(first, given), expected, strict=True):
        turned = value.transpose(0, 1, 4, 2, 3) if value.ndim == 5 else value.transpose(0, 3, 1, 2)
        np.testing.assert_allclose(found, turned, rtol=1e-4, atol=1e-5)


def test_the_states_of_films_go_on_with_the_next_batch() -> None:
    whole = layers.ConvLSTM2D(2, 2, strides=2)
    expected = outputs(whole, np.concatenate([FILMS, FILMS], 1))
    parts = layers.ConvLSTM2D(2, 2, strides=2, stateful=True)
    made = parts(tf.constant(FILMS))
    parts.set_weights(whole.get_weights())
    session = keras.backend.get_session()
    for _ in range(2):
        for _ in range(2):
            found, _ = session.run([made, parts.updates])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        with session.as_default():
            parts.reset_states()


def test_films_have_dropout_in_training_only() -> None:
    layer = layers.ConvLSTM2D(2, 2, dropout=0.5, recurrent_dropout=0.5)
    made = [layer(tf.constant(FILMS), training=training) for training in (False, False, True)]
    one, two, dropped = keras.backend.get_session().run(made)
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - dropped).max() > 1e-3


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    layer = layers.AlphaDropout(0.3, seed=5)
    given = np.random.default_rng(1).normal(size=(200, 500)).astype(np.float32)
    np.testing.assert_array_equal(outputs(layer, given, training=False), given)
    found = outputs(layer, given, training=True)
    assert found.mean() == pytest.approx(0, abs=0.02)
    assert found.std() == pytest.approx(1, abs=0.02)
    # The dropped values are all equal, and the others are a linear function of the inputs.
    values, counts = np.unique(found, return_counts=True)
    assert counts.max() / found.size == pytest.approx(0.3, abs=0.01)
    kept = found != values[counts.argmax()]
    slope, shift = np.polyfit(given[kept], found[kept], 1)
    np.testing.assert_allclose(found[kept], slope * given[kept] + shift, rtol=1e-3, atol=1e-4)


def test_alpha_dropout_shares_its_choice_along_axes() -> None:
    given = np.ones((4, 50, 3), np.float32)
    layer = layers.AlphaDropout(0.5, noise_shape=(4, 1, 3), seed=2)
    found = outputs(layer, given, training=True)
    assert (found == found[:, :1]).all()
    assert len(np.unique(found)) == 2
    np.testing.assert_array_equal(outputs(layers.AlphaDropout(0.0), given, training=True), given)


def test_a_stateful_layer_is_built_before_its_dtype_is_known() -> None:
    layer = layers.ConvLSTM2D(
        2, 3, padding="same", stateful=True, batch_input_shape=(1, 2, 5, 4, 3)
    )
    layer.build((1, 2, 5, 4, 3))
    assert [state.shape.as_list() for state in layer.states] == [[1, 5, 4, 2]] * 2
