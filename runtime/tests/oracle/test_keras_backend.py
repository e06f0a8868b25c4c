"""Functions of `tf.keras.backend` give the values and shapes of TensorFlow's Keras."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(7)


def numbers(*shape: int) -> Any:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


STEPS, IMAGES, VOLUMES = numbers(2, 6, 3), numbers(2, 5, 6, 3), numbers(2, 3, 4, 3, 2)
ROW, SQUARE, CUBE = numbers(2, 3, 4), numbers(2, 3, 3, 4), numbers(2, 2, 2, 2, 3)
VECTOR, FILTERS = numbers(3), numbers(2, 2, 3, 2)
POSITIVE = np.abs(VECTOR) + 0.1
SHARES = np.exp(numbers(2, 6, 4) * 3)
SHARES /= SHARES.sum(-1, keepdims=True)
LABELS = np.array([[0, 2, 1], [2, 0, 0]], np.int32)
ROWS_FIRST = IMAGES.transpose(0, 3, 1, 2)
FIRST = "channels_first"


def start(decoded: Any) -> Any:
    """Return the first labels of paths. TensorFlow 2 puts -1 behind them up to the last step."""
    paths, logarithms = decoded
    return [path[:, :3] for path in paths], logarithms


CASES: dict[str, Any] = {
    "conv1d": lambda k: k.conv1d(k.constant(STEPS), k.constant(ROW)),
    "conv1d, causal": lambda k: k.conv1d(
        k.constant(STEPS), k.constant(ROW), padding="causal", dilation_rate=2
    ),
    "conv1d, strided": lambda k: k.conv1d(k.constant(STEPS), k.constant(ROW), 2, "same"),
    "conv2d": lambda k: k.conv2d(k.constant(IMAGES), k.constant(SQUARE)),
    "conv2d, same": lambda k: k.conv2d(k.constant(IMAGES), k.constant(SQUARE), (2, 1), "same"),
    "conv2d, dilated": lambda k: k.conv2d(
        k.constant(IMAGES), k.constant(SQUARE), dilation_rate=(2, 1)
    ),
    "conv2d, channels first": lambda k: k.conv2d(
        k.constant(ROWS_FIRST), k.constant(SQUARE), data_format=FIRST
    ),
    "conv2d_transpose": lambda k: k.conv2d_transpose(
        k.constant(IMAGES), k.constant(FILTERS.transpose(0, 1, 3, 2)), (2, 10, 12, 2), (2, 2)
    ),
    "conv2d_transpose, batch": lambda k: k.conv2d_transpose(
        k.constant(IMAGES), k.constant(FILTERS.transpose(0, 1, 3, 2)), (None, 6, 7, 2)
    ),
    "conv2d_transpose, dilated": lambda k: k.conv2d_transpose(
        k.constant(IMAGES), k.constant(FILTERS.transpose(0, 1, 3, 2)), (2, 7, 8, 2),
        dilation_rate=(2, 2),
    ),
    "conv2d_transpose, dilated, channels first": lambda k: k.conv2d_transpose(
        k.constant(ROWS_FIRST), k.constant(FILTERS.transpose(0, 1, 3, 2)), (2, 2, 7, 8),
        data_format=FIRST, dilation_rate=(2, 2),
    ),
    "conv3d": lambda k: k.conv3d(k.constant(VOLUMES), k.constant(CUBE)),
    "separable_conv2d": lambda k: k.separable_conv2d(
        k.constant(IMAGES), k.constant(FILTERS), k.constant(numbers(1, 1, 6, 4) * 0 + 0.5)
    ),
    "pool2d": lambda k: k.pool2d(k.constant(IMAGES), (2, 3)),
    "pool2d, means": lambda k: k.pool2d(k.constant(IMAGES), (2, 2), (2, 2), "same", None, "avg"),
    "pool3d": lambda k: k.pool3d(k.constant(VOLUMES), (2, 2, 2), (1, 2, 1)),
    "pool3d, means": lambda k: k.pool3d(
        k.constant(VOLUMES), (2, 2, 2), padding="same", pool_mode="avg"
    ),
    "local_conv1d": lambda k: k.local_conv1d(
        k.constant(STEPS), k.constant(np.arange(5 * 6 * 2).reshape(5, 6, 2) / 60), (2,), (1,)
    ),
    "local_conv2d": lambda k: k.local_conv2d(
        k.constant(IMAGES), k.constant(np.arange(8 * 12 * 2).reshape(8, 12, 2) / 90), (2, 2),
        (1, 3), (4, 2),
    ),
    "local_conv2d, channels first": lambda k: k.local_conv2d(
        k.constant(ROWS_FIRST), k.constant(np.arange(8 * 12 * 2).reshape(8, 12, 2) / 90), (2, 2),
        (1, 3), (4, 2), FIRST,
    ),
    "temporal_padding": lambda k: k.temporal_padding(k.constant(STEPS), (2, 1)),
    "spatial_2d_padding": lambda k: k.spatial_2d_padding(k.constant(IMAGES), ((1, 0), (2, 3))),
    "spatial_2d_padding, channels first": lambda k: k.spatial_2d_padding(
        k.constant(ROWS_FIRST), data_format=FIRST
    ),
    "spatial_3d_padding": lambda k: k.spatial_3d_padding(k.constant(VOLUMES)),
    "resize_images": lambda k: k.resize_images(k.constant(IMAGES), 2, 3, "channels_last"),
    "resize_images, channels first": lambda k: k.resize_images(k.constant(ROWS_FIRST), 3, 1, FIRST),
    "resize_volumes": lambda k: k.resize_volumes(k.constant(VOLUMES), 2, 1, 3, "channels_last"),
    "batch_normalization": lambda k: k.batch_normalization(
        k.constant(STEPS), *map(k.constant, (VECTOR, POSITIVE, VECTOR * 2, POSITIVE * 3))
    ),
    "batch_normalization of images": lambda k: k.batch_normalization(
        k.constant(IMAGES), k.constant(VECTOR[None, None, None]), k.constant(POSITIVE), None, None
    ),
    "normalize_batch_in_training": lambda k: k.normalize_batch_in_training(
        k.constant(STEPS), k.constant(POSITIVE), k.constant(VECTOR), [0, 1]
    ),
    "normalize_batch_in_training of images": lambda k: k.normalize_batch_in_training(
        k.constant(IMAGES), None, k.constant(VECTOR), [0, 1, 2]
    ),
    "normalize_batch_in_training of other axes": lambda k: k.normalize_batch_in_training(
        k.constant(ROWS_FIRST), k.constant(POSITIVE), None, [0, 2, 3]
    ),
    "ctc_batch_cost": lambda k: k.ctc_batch_cost(
        *(k.constant(each, each.dtype) for each in (LABELS, SHARES)),
        *(k.constant(each, "int32") for each in ([[6], [5]], [[3], [1]])),
    ),
    "ctc_decode": lambda k: start(k.ctc_decode(k.constant(SHARES), k.constant([6, 5], "int32"))),
    "ctc_decode, beams": lambda k: start(
        k.ctc_decode(k.constant(SHARES), k.constant([6, 5], "int32"), False, 10, 2)
    ),
    "foldl": lambda k: k.foldl(lambda total, x: total * 2 + x, k.constant(VECTOR)),
    "foldr": lambda k: k.foldr(
        lambda total, x: total * 2 + x, k.constant(VECTOR), k.constant(np.float32(3))
    ),
    "map_fn": lambda k: k.map_fn(lambda x: k.sum(x * x), k.constant(STEPS)),
    "print_tensor": lambda k: k.print_tensor(k.constant(VECTOR), "a vector: "),
}  # fmt: skip


def computed(v1: Any, keras_backend: Any, case: str) -> list[Any]:
    with v1.Graph().as_default(), v1.Session() as session:
        results = v1.nest.flatten(CASES[case](keras_backend))
        values = session.run(results)
        for result, value in zip(results, values, strict=True):
            assert result.shape.is_compatible_with(value.shape)
        return values


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_tensorflow(v1: Any, case: str) -> None:
    from tensorflow.python.keras import backend

    found = computed(capstan, capstan.keras.backend, case)
    expected = computed(v1, backend, case)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
        assert one.dtype == other.dtype
