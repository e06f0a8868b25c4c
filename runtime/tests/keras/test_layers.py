"""The layers of `tf.keras.layers` compute what NumPy computes from their weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.keras.utils import conv_utils

pytestmark = pytest.mark.e2e
layers = tf.keras.layers

RANDOM = np.random.RandomState(4)
ROWS = RANDOM.uniform(-2, 2, (3, 4)).astype(np.float32)
OTHER = RANDOM.uniform(-2, 2, (3, 4)).astype(np.float32)
STEPS = RANDOM.uniform(-2, 2, (2, 5, 3)).astype(np.float32)
IMAGES = RANDOM.uniform(-2, 2, (2, 4, 6, 3)).astype(np.float32)
RANDOM_WEIGHTS = tf.keras.initializers.RandomUniform(-1, 1, seed=3)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(4)
        yield graph


def called(layer: Any, inputs: Any, **options: Any) -> tuple[Any, list[Any]]:
    """Return the outputs of a layer and its weights. The static shape must be the real one."""
    tensors = [tf.constant(each) for each in inputs]
    outputs = layer(tensors[0] if len(tensors) == 1 else tensors, **options)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, weights = session.run([outputs, layer.weights])
    assert outputs.shape.as_list() == list(values.shape)
    return values, weights


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def softmax(rows: Any) -> Any:
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


CASES: dict[str, tuple[Callable[[], Any], list[Any], Callable[..., Any]]] = {
    "Dense": (
        lambda: layers.Dense(2, "tanh", kernel_initializer=RANDOM_WEIGHTS),
        [ROWS], lambda x, kernel, bias: np.tanh(x @ kernel + bias),
    ),
    "Dense of steps": (
        lambda: layers.Dense(2, use_bias=False), [STEPS], lambda x, kernel: x @ kernel,
    ),
    "Activation": (lambda: layers.Activation("softmax"), [ROWS], softmax),
    "Reshape": (lambda: layers.Reshape((2, -1)), [ROWS], lambda x: x.reshape(3, 2, 2)),
    "Permute": (lambda: layers.Permute((2, 1)), [STEPS], lambda x: x.swapaxes(1, 2)),
    "Flatten": (lambda: layers.Flatten(), [STEPS], lambda x: x.reshape(2, 15)),
    "RepeatVector": (
        lambda: layers.RepeatVector(2), [ROWS], lambda x: np.stack([x, x], 1),
    ),
    "Lambda": (
        lambda: layers.Lambda(lambda x, by: x * by, arguments={"by": 3}),
        [ROWS], lambda x: x * 3,
    ),
    "LeakyReLU": (lambda: layers.LeakyReLU(0.2), [ROWS], lambda x: np.where(x > 0, x, 0.2 * x)),
    "PReLU": (
        lambda: layers.PReLU(RANDOM_WEIGHTS), [ROWS],
        lambda x, alpha: np.where(x > 0, x, alpha * x),
    ),
    "ELU": (lambda: layers.ELU(2.0), [ROWS], lambda x: np.where(x > 0, x, 2 * np.expm1(x))),
    "ThresholdedReLU": (lambda: layers.ThresholdedReLU(1.0), [ROWS], lambda x: x * (x > 1)),
    "ReLU": (
        lambda: layers.ReLU(1.5, 0.1, 0.5), [ROWS],
        lambda x: np.where(x < 0.5, 0.1 * (x - 0.5), np.minimum(x, 1.5)),
    ),
    "Softmax": (lambda: layers.Softmax(), [ROWS], softmax),
    "Add": (lambda: layers.Add(), [ROWS, OTHER, ROWS], lambda x, y, z: x + y + z),
    "Add that broadcasts": (
        lambda: layers.Add(), [STEPS, STEPS[:, 0]], lambda x, y: x + y[:, None],
    ),
    "Subtract": (lambda: layers.Subtract(), [ROWS, OTHER], np.subtract),
    "Multiply": (lambda: layers.Multiply(), [ROWS, OTHER], np.multiply),
    "Average": (lambda: layers.Average(), [ROWS, OTHER], lambda x, y: (x + y) / 2),
    "Maximum": (lambda: layers.Maximum(), [ROWS, OTHER], np.maximum),
    "Minimum": (lambda: layers.Minimum(), [ROWS, OTHER], np.minimum),
    "Concatenate": (
        lambda: layers.Concatenate(1), [STEPS, STEPS], lambda x, y: np.concatenate([x, y], 1),
    ),
    "Dot": (
        lambda: layers.Dot(1), [ROWS, OTHER], lambda x, y: (x * y).sum(1, keepdims=True),
    ),
    "Dot of cosines": (
        lambda: layers.Dot(-1, normalize=True), [STEPS, STEPS[:, :2]],
        lambda x, y: unit(x) @ unit(y).swapaxes(1, 2),
    ),
    "LayerNormalization": (
        lambda: layers.LayerNormalization(gamma_initializer=RANDOM_WEIGHTS), [STEPS],
        lambda x, gamma, beta: (x - x.mean(-1, keepdims=True))
        / np.sqrt(x.var(-1, keepdims=True) + 1e-3) * gamma + beta,
    ),
    "Conv1D": (
        lambda: layers.Conv1D(2, 1, kernel_initializer=RANDOM_WEIGHTS), [STEPS],
        lambda x, kernel, bias: x @ kernel[0] + bias,
    ),
    "causal Conv1D": (
        lambda: layers.Conv1D(2, 2, padding="causal", use_bias=False), [STEPS],
        lambda x, kernel: x @ kernel[1] + np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] @ kernel[0],
    ),
    "Conv2D": (
        lambda: layers.Conv2D(2, 1, strides=2, activation="relu"), [IMAGES],
        lambda x, kernel, bias: np.maximum(x[:, ::2, ::2] @ kernel[0, 0] + bias, 0),
    ),
    "MaxPooling1D": (
        lambda: layers.MaxPooling1D(), [STEPS],
        lambda x: np.maximum(x[:, 0:4:2], x[:, 1:4:2]),
    ),
    "MaxPooling2D": (
        lambda: layers.MaxPooling2D(), [IMAGES],
        lambda x: x.reshape(2, 2, 2, 3, 2, 3).max((2, 4)),
    ),
    "AveragePooling2D": (
        lambda: layers.AveragePooling2D((2, 1)), [IMAGES],
        lambda x: x.reshape(2, 2, 2, 6, 3).mean(2),
    ),
    "GlobalMaxPooling1D": (lambda: layers.GlobalMaxPooling1D(), [STEPS], lambda x: x.max(1)),
    "GlobalAveragePooling2D": (
        lambda: layers.GlobalAveragePooling2D(), [IMAGES], lambda x: x.mean((1, 2)),
    ),
    "ZeroPadding1D": (
        lambda: layers.ZeroPadding1D((1, 2)), [STEPS],
        lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0))),
    ),
    "Cropping1D": (lambda: layers.Cropping1D(1), [STEPS], lambda x: x[:, 1:-1]),
    "ZeroPadding2D": (
        lambda: layers.ZeroPadding2D((1, (0, 2))), [IMAGES],
        lambda x: np.pad(x, ((0, 0), (1, 1), (0, 2), (0, 0))),
    ),
    "Cropping2D": (
        lambda: layers.Cropping2D(((1, 0), (2, 1))), [IMAGES], lambda x: x[:, 1:, 2:-1],
    ),
    "UpSampling1D": (lambda: layers.UpSampling1D(3), [STEPS], lambda x: x.repeat(3, 1)),
    "UpSampling2D": (
        lambda: layers.UpSampling2D((2, 1)), [IMAGES], lambda x: x.repeat(2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_shapes_are_those_of_numpy(name: str) -> None:
    make, inputs, expected = CASES[name]
    layer = make()
    values, weights = called(layer, inputs)
    np.testing.assert_allclose(values, expected(*inputs, *weights), 1e-4, 1e-5)
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


def test_an_embedding_looks_up_rows() -> None:
    ids = np.array([[0, 2], [1, 1]])
    values, (table,) = called(layers.Embedding(3, 4), [ids])
    assert values.tolist() == table[ids].tolist()


def test_masking_hides_steps() -> None:
    steps = STEPS.copy()
    steps[0, 1:3] = 9
    values, _ = called(layers.Masking(9.0), [steps])
    assert not values[0, 1:3].any()
    np.testing.assert_array_equal(values[1], steps[1])


def test_batch_normalization_moves_its_averages_when_its_updates_run() -> None:
    layer = layers.BatchNormalization(momentum=0.5)
    outputs = layer(tf.constant(ROWS), training=True)
    inference = layer(tf.constant(ROWS), training=False)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert len(layer.updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, _ = session.run([outputs, layer.updates])
        _, _, mean, variance = session.run(layer.weights)
        later = session.run(inference)
    deviation = np.sqrt(ROWS.var(0) + 1e-3)
    np.testing.assert_allclose(values, (ROWS - ROWS.mean(0)) / deviation, 1e-4, 1e-5)
    np.testing.assert_allclose(mean, ROWS.mean(0) / 2, 1e-5)
    np.testing.assert_allclose(variance, (1 + ROWS.var(0)) / 2, 1e-5)
    np.testing.assert_allclose(later, (ROWS - mean) / np.sqrt(variance + 1e-3), 1e-4, 1e-5)
    layer.trainable = False
    assert layer.updates == []


@pytest.mark.parametrize(
    "layer",
    [
        lambda: layers.Dropout(0.5, seed=1), lambda: layers.GaussianNoise(1.0),
        lambda: layers.GaussianDropout(0.5), lambda: layers.SpatialDropout1D(0.5, seed=1),
    ],
)  # fmt: skip
def test_noise_is_only_in_training(layer: Any) -> None:
    made = layer()
    outputs = [made(tf.ones([50, 4, 8]), training=training) for training in (None, True, False)]
    phase = tf.keras.backend.learning_phase()
    with tf.Session() as session:
        free, noisy, plain = session.run(outputs)
        trained = session.run(outputs[0], {phase: True})
    assert (free == 1).all()
    assert (plain == 1).all()
    for values in (noisy, trained):
        assert not (values == 1).any()
        assert abs(values.mean() - 1) < 0.3


def test_spatial_dropout_drops_whole_channels() -> None:
    values, _ = called(layers.SpatialDropout1D(0.5, seed=3), [np.ones((9, 5, 8))], training=True)
    assert (values == values[:, :1]).all()
    assert set(np.unique(values)) == {0, 2}


def test_a_layer_computes_the_shape_of_its_outputs() -> None:
    layer = layers.Conv2D(4, 3)
    assert layer.compute_output_shape((None, 8, 8, 3)).as_list() == [None, 6, 6, 4]
    assert layers.Concatenate().compute_output_shape([(2, 3), (2, 4)]).as_list() == [2, 7]
    assert tf.trainable_variables() == []


def test_a_transposed_convolution_enlarges_images_and_refuses_what_it_lacks() -> None:
    layer = layers.Conv2DTranspose(4, 2, 2, "valid", None, "channels_last")
    assert layer(tf.constant(IMAGES)).shape.as_list() == [2, 8, 12, 4]
    config = layer.get_config()
    assert layers.Conv2DTranspose.from_config(config).get_config() == config


def test_attention_takes_masks_of_layers_and_passes_that_of_the_queries_on() -> None:
    words = tf.constant([[3, 0, 2], [1, 1, 0]])
    vectors = layers.Embedding(4, 2, mask_zero=True)(words)
    outputs = layers.Attention()([vectors, vectors, vectors])
    ends = layers.Masking()(outputs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert (session.run(ends)[[0, 1], [1, 2]] == 0).all()


@pytest.mark.parametrize(
    ("inputs", "mask", "message"),
    [
        (STEPS, None, "must be called on a list of inputs"),
        ([STEPS], None, "accepts inputs list of length 2 or 3.*Given length: 1"),
        ([STEPS, STEPS], (None, None), "layer mask must be a list, namely"),
        ([STEPS, STEPS], [STEPS[..., 0] > 0], "layer mask must be a list of length 2"),
    ],
)
def test_attention_refuses_what_is_no_list_of_queries_and_values(
    inputs: Any, mask: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        layers.Attention()(inputs, mask=mask)


def test_an_output_padding_must_be_less_than_its_stride() -> None:
    with pytest.raises(ValueError, match="must be greater than output padding"):
        layers.Conv3DTranspose(2, 3, 2, output_padding=(0, 2, 0))


def test_a_dense_layer_of_a_dtype_casts_its_inputs() -> None:
    layer = layers.Dense(2, dtype="float32")
    values, (kernel, _) = called(layer, [np.array([[1, 2], [3, 4]], np.int64)])
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, [[1, 2], [3, 4]] @ kernel, 1e-5)


@pytest.mark.parametrize(
    ("axes", "error", "message"),
    [
        (1.5, TypeError, "Invalid type for `axes`"),
        ((1, "x"), ValueError, "an int or two ints"),
        ((1, 2, 1), ValueError, "an int or two ints"),
        (0, ValueError, "over axis 0"),
        (5, ValueError, "do not have the axes"),
        (-5, ValueError, "do not have the axes"),
        (2, ValueError, "3 != 4"),
    ],
)
def test_a_dot_layer_refuses_axes_that_do_not_fit(axes: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        layers.Dot(axes)([tf.ones([2, 5, 3]), tf.ones([2, 5, 4])])


@pytest.mark.parametrize(
    ("layer", "expected"),
    [(layers.Add(), [[True, False], [False, False]]), (layers.Concatenate(1), [True, False])],
)
def test_masks_of_numbers_are_true_where_they_are_not_zero(layer: Any, expected: Any) -> None:
    tensors = [tf.ones([2, 2])] * 2
    masks = [tf.constant([[2.0, 3.0], [0.0, 0.0]]), tf.constant([[1.0, 0.0], [1.0, 1.0]])]
    if isinstance(layer, layers.Concatenate):
        masks = [tf.constant([[2.0, 3.0], [0.0, 1.0]]), tf.ones([2, 2])]
    with tf.Session() as session:
        assert session.run(layer.compute_mask(tensors, masks)).tolist() == expected
    with pytest.raises(ValueError, match="lists of the same length"):
        layer.compute_mask(tensors, masks[:1])
    with pytest.raises(ValueError, match="lists of the same length"):
        layer.compute_mask(tensors, masks[0])


@pytest.mark.parametrize(
    ("axis", "message"),
    [({"axis": 1}, "Expected an int or a list"), (3, "Invalid axis: 3"), ([1, -1], "Duplicate")],
)
def test_layer_normalization_refuses_wrong_axes(axis: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layers.LayerNormalization(axis).build((2, 2))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("same", None, 2), 8), (("valid", None, 1), 5), (("full", None, 2), 6),
        (("same", 1, 2), 7), (("valid", 2, 1), 7), (("full", 2, 2, 3), 6),
    ],
)  # fmt: skip
def test_the_length_of_a_transposed_convolution_is_that_of_keras(
    options: Any, expected: int
) -> None:
    assert conv_utils.deconv_output_length(4, 2, *options) == expected
    assert conv_utils.deconv_output_length(None, 2, *options) is None
