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
        (lambda tf: tf.fill([2], [1]), "must be rank 0 but is rank 1"),
        (lambda tf: tf.fill([-1], 1), "Fill dimensions must be >= 0"),
        (lambda tf: tf.reverse([[1, 2]], [2]), r"'axis'\[0\] = 2 is out of valid range \[0, 1"),
        (lambda tf: tf.reverse([[1, 2]], [0, -2]), "axis 0 specified more than once"),
        (lambda tf: tf.reverse([[1, 2]], 0), "must be rank 1 but is rank 0"),
        (lambda tf: tf.reverse_sequence(tf.zeros([2, 3]), [1, 2, 3], 1),
         "Dimensions must be equal, but are 2 and 3"),
        (lambda tf: tf.reverse_sequence(tf.zeros([2, 3]), [1, 2], 3),
         "seq_dim must be < input rank: 3 vs. 2"),
        (lambda tf: tf.concat([tf.zeros([2, 2]), tf.zeros([3])], tf.placeholder(tf.int32)),
         "Shape must be rank 2 but is rank 1"),
        (lambda tf: tf.pad([[1, 2]], [[-1, 0], [0, 0]]), "Paddings must be non-negative"),
        (lambda tf: tf.roll([[1, 2]], [1, 2], [0]),
         "Dimension 0 in both shapes must be equal, but are 2 and 1"),
        (lambda tf: tf.scatter_nd([[0]], tf.zeros([1, 2]), [0, 2]),
         "Indices and updates specified for empty"),
        (lambda tf: tf.bincount([1, 2], minlength=[1, 2]), "must be rank 0 but is rank 1"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [0, 2], [[0, 0], [0, 0]]),
         "block_shape must be positive"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 3, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be evenly divisible by 2 but is 3"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [2, 2], [[0, -1], [0, 0]]),
         "paddings cannot be negative"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([2, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be at least rank 3 but is rank 2"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [2, 2], [[0, 0, 0], [0, 0, 0]]),
         "Dimension 1 in both shapes must be equal"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([3, 2, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be evenly divisible by 4 but is 3|must be evenly divisible by 2 but is 3"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([4, 2, 2]), [2, 2], [[3, 3], [0, 0]]),
         "Negative dimension size caused by subtracting"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([4, 2, 2]), [2, 2], [[-1, 0], [0, 0]]),
         "crops cannot be negative"),
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
