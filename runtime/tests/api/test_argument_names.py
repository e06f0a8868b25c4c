"""Arguments have the names and places that TensorFlow 1.15 gives them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf

ROWS = [[1.0, 3.0, 2.0]]


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: tf.linalg.transpose([[[1, 2, 3]]]), [[[1], [2], [3]]]),
        (lambda: tf.linalg.transpose([[[1 + 2j]]], "turned", True), [[[1 - 2j]]]),
        (lambda: tf.nn.max_pool2d(tf.reshape(ROWS, [1, 1, 3, 1]), [1, 3], 1, "VALID"), [[[[3.0]]]]),
        (
            lambda: tf.nn.softmax_cross_entropy_with_logits_v2([[0.0, 1.0]], [[0.0, 0.0]]),
            [np.log(2.0)],
        ),
        (
            lambda: tf.nn.softmax_cross_entropy_with_logits_v2([[0.0], [1.0]], [[0.0], [0.0]], 0),
            [np.log(2.0)],
        ),
        (lambda: tf.numpy_function(np.negative, [1.0], tf.float32, "negated"), -1.0),
    ],
)
def test_a_value_of_arguments_by_place(make: Callable[[], Any], expected: Any) -> None:
    with tf.Session() as session:
        found = session.run(make())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_hint_is_a_preferred_type() -> None:
    assert tf.convert_to_tensor(1, dtype_hint=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(1.5, None, None, None, tf.int32).dtype == tf.float32
    assert tf.as_dtype(type_value="int8") == tf.int8


def test_one_value_fills_a_message_of_a_tensor() -> None:
    message = tf.make_tensor_proto(2, shape=[3], allow_broadcast=True)
    assert tf.make_ndarray(message).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="2 values do not fit into a tensor of the shape"):
        tf.make_tensor_proto([1, 2], shape=[3], allow_broadcast=True)


def test_transposed_convolutions_of_tf_layers_have_no_dilation() -> None:
    images = tf.layers.Conv2DTranspose(2, 3, 2, "same", "channels_last", tf.nn.relu)
    volumes = tf.layers.Conv3DTranspose(2, 3, 2, "same", "channels_last", tf.nn.relu)
    assert images.activation is volumes.activation is tf.nn.relu
    assert images(tf.ones([1, 2, 2, 1])).shape.as_list() == [1, 4, 4, 2]
    assert volumes(tf.ones([1, 2, 2, 2, 1])).shape.as_list() == [1, 4, 4, 4, 2]


def test_codes_and_errors_are_known_by_name() -> None:
    assert tf.errors.exception_type_from_error_code(error_code=5) is tf.errors.NotFoundError
    assert tf.errors.error_code_from_exception_type(cls=tf.errors.NotFoundError) == 5
    assert tf.is_variable_initialized(variable=tf.Variable(1)).dtype == tf.bool
