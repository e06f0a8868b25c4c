"""Python values become the same tensors as in TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 1], [2, 3]], [1.5, 2.5], [3, 4])


CASES: list[Callable[[Any], Any]] = [
    lambda tf: tf.constant([0, 2, -1], tf.uint8),
    lambda tf: tf.constant(300, tf.int8),
    lambda tf: tf.constant([[2**40 + 3]], tf.int32),
    lambda tf: tf.constant([-1], tf.uint64),
    lambda tf: tf.constant(1, tf.uint8) + 300,
    lambda tf: tf.one_hot(tf.constant([0, 2, -1], tf.uint8), 3),
    lambda tf: tf.convert_to_tensor([tf.constant(3, tf.int64), 2], tf.int32),
    lambda tf: tf.convert_to_tensor([[tf.constant(2.7), 1], [2, 3]], tf.int32),
    lambda tf: tf.reshape(tf.zeros([6]), [tf.constant(3, tf.int64), tf.constant(2)]),
    lambda tf: tf.matmul(tf.constant([[2.0]]), [[tf.constant(3, tf.int64)]]),
    lambda tf: tf.concat(1, [tf.zeros([2, 2]), tf.zeros([2, 2])]),
    lambda tf: tf.concat(1, [tf.zeros([2, 2]), tf.zeros([2, 1])]),
    lambda tf: tf.reduce_all([], [0]),
    lambda tf: tf.reduce_any([]),
    lambda tf: tf.reduce_all([1, 2]),
    lambda tf: tf.reduce_all(np.array([1, 2])),
    lambda tf: tf.reduce_any(tf.constant([1.0])),
    lambda tf: tf.reduce_any([tf.constant(0.0), True]),
    lambda tf: tf.shape(sparse(tf)),
    lambda tf: tf.shape(tf.SparseTensorValue([[0, 1]], [1.5], (3, 4)), out_type=tf.int64),
    lambda tf: tf.size(sparse(tf)),
    lambda tf: tf.size(sparse(tf), out_type=tf.int64),
    lambda tf: tf.rank(sparse(tf)),
    lambda tf: tf.rank(tf.SparseTensorValue([[0, 1]], [1.5], (3, 4))),
    lambda tf: tf.sparse_tensor_to_dense(tf.cast(sparse(tf), tf.int64)),
    lambda tf: tf.convert_to_tensor(tf.cast(
        tf.IndexedSlices(*map(tf.constant, ([1.7], [1], [2]))), tf.int32)),
    lambda tf: tf.random.categorical([[0.0, -100.0]], 3, tf.int32),
    lambda tf: tf.random.categorical([[0.0, -100.0]], 3, seed=7),
    lambda tf: tf.constant([1, 2, 3]) + range(3),
    lambda tf: tf.reduce_sum(tf.ones([2, 3, 4]), axis=range(2)),
    lambda tf: tf.concat([range(3), range(2)], 0),
    lambda tf: tf.stack([range(3), range(2**31, 2**31 + 3)]),
    lambda tf: tf.gather([5.0, 6.0, 7.0], range(2)),
    lambda tf: tf.constant(range(3)),
    lambda tf: tf.constant([range(3), range(3)]),
    lambda tf: tf.constant({1: 2}),
    lambda tf: tf.scalar_mul(2, tf.constant([1.0]), "doubled"),
    lambda tf: tf.convert_to_tensor(
        tf.scalar_mul(3.0, tf.IndexedSlices(*map(tf.constant, ([1.0], [1], [2]))))
    ),
]  # fmt: skip


@pytest.mark.parametrize("build", CASES)
def test_a_value_becomes_the_tensor_of_tensorflow(v1: Any, build: Callable[[Any], Any]) -> None:
    def result(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                tensor = build(tf)
            except (TypeError, ValueError) as error:
                return type(error)
            value = session.run(tensor)
            return value.dtype, value.tolist()

    assert result(capstan) == result(v1)
