"""Operations refuse the same inputs as in TensorFlow, at the same time and in the same words."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS
Build = Callable[[Any], Any]


def unknown(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.array(value, np.int32), None)


def pool(window: list[int], strides: list[int], function: str = "max_pool") -> Build:
    return lambda tf: getattr(tf.nn, function)(tf.zeros([1, 2, 2, 4]), window, strides, "SAME")


def pool_of_nothing(function: str, name: str = "strides") -> Build:
    sizes = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], name: [2, 1, 1, 1]}
    return lambda tf: getattr(tf.nn, function)(tf.placeholder(tf.float32), padding="SAME", **sizes)


def transposed(kernel: list[int]) -> Build:
    return lambda tf: tf.nn.conv2d_transpose(
        tf.zeros([1, 4, 4, 3]), tf.zeros(kernel), [1, 8, 8, 5], [1, 2, 2, 1]
    )


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda tf: tf.reshape(tf.zeros([23, 29, 31]), [17, -1]),
         "must be evenly divisible by 17 but is 20677"),
        (lambda tf: tf.reshape(tf.zeros([23, 29]), [2, 3, -1]),
         "must be evenly divisible by 6 but is 667"),
        (lambda tf: tf.reshape(tf.zeros([4]), [0, -1]), "Cannot reshape a tensor with 4 elements"),
        (lambda tf: tf.reshape(tf.zeros([4]), [3]), "Cannot reshape a tensor with 4 elements"),
        (lambda tf: tf.sparse_to_dense([1, 3], [[5], [3]], 1, -1), "must be rank 1 but is rank 2"),
        (lambda tf: tf.sparse_to_dense([1, 3], 5, 1, -1), "must be rank 1 but is rank 0"),
        (lambda tf: tf.sparse_to_dense([1, 3], [-5], 1, -1),
         "Invalid value in tensor used for shape: -5"),
        (lambda tf: tf.fill([[2]], 1.0), "must be rank 1 but is rank 2"),
        (transposed([2, 2, 5, 2]), "Dimensions must be equal, but are 3 and 2"),
    ],
)  # fmt: skip
def test_the_graph_refuses(v1: Any, build: Build, message: str) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
            build(tf)


@pytest.mark.parametrize(
    "build",
    [
        lambda tf: tf.sparse_to_dense([1, 3], [5], [[5], [3]], -1),
        lambda tf: tf.sparse_to_dense([1, 3], [5], [1, 2], [0]),
        lambda tf: tf.sparse_to_dense([1, 3], [5], [1, 2, 3], 0),
        lambda tf: tf.sparse_to_dense([[1, 3]], [5], [1], 0),
        lambda tf: tf.sparse_to_dense([[[1, 3]]], [5], [1], 0),
        lambda tf: tf.sparse_to_dense([3, 1], [5], 1, 0),
        lambda tf: tf.sparse_to_dense([1, 1], [5], 1, 0),
        lambda tf: tf.sparse_to_dense([1, 7], [5], 1, 0),
        pool([1, 2, 2, 2], [1, 1, 1, 2]),
        pool([1, 1, 1, 2], [1, 1, 1, 1]),
        pool([1, 1, 1, 3], [1, 1, 1, 3]),
        pool([2, 1, 1, 1], [1, 1, 1, 1]),
        pool_of_nothing("max_pool"),
        pool_of_nothing("avg_pool"),
        pool_of_nothing("avg_pool", "ksize"),
    ],
)
def test_the_step_refuses(v1: Any, build: Build) -> None:
    assert outcome(v1, build)[0] in ("InvalidArgumentError", "UnimplementedError")
    compare(v1, [build])


def test_the_largest_numbers_of_channels_are_tensorflows(v1: Any) -> None:
    images = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    compare(v1, [lambda tf: tf.nn.max_pool(images, [1, 1, 1, 2], [1, 1, 1, 2], "SAME")])


@pytest.mark.parametrize("shape", [[[5], [3]], 3])
def test_the_step_refuses_shapes_that_are_no_vectors(v1: Any, shape: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            dense = tf.sparse_to_dense([1, 3], unknown(tf, shape), 1, -1)
            with pytest.raises(tf.errors.InvalidArgumentError, match="output_shape"):
                session.run(dense)
