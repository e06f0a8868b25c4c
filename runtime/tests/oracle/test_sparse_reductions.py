"""Sparse tensors are reduced, and tensors stacked in parallel, as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS

PLACES = [[0, 1, 2], [0, 0, 1], [1, 2, 0], [0, 1, 0], [1, 2, 3]]


def sparse(v1: Any, dtype: Any = np.float32, shape: Any = (2, 3, 4)) -> Any:
    return v1.SparseTensor(PLACES, v1.constant(np.array([1, -2, 3, 4, -5], dtype)), shape)


def reductions(v1: Any, **options: Any) -> list[Any]:
    found = [v1.sparse_reduce_sum(sparse(v1), **options)]
    found.append(v1.sparse_reduce_max(sparse(v1, np.int64), **options))
    for reduce in (v1.sparse_reduce_sum_sparse, v1.sparse_reduce_max_sparse):
        result = reduce(sparse(v1, np.int32), **options)
        found += [result.indices, result.values, result.dense_shape]
    return found


def test_reductions_along_axes_are_tensorflows(v1: Any) -> None:
    def fed(v1: Any, value: Any) -> Any:
        return v1.placeholder_with_default(value, None)

    compare(
        v1,
        [
            *(
                lambda v1, axis=axis, keeps=keeps: reductions(v1, axis=axis, keepdims=keeps)
                for axis in (None, 0, 1, -1, [0, 2], [1, 1], [], [2, 1, 0])
                for keeps in (False, True)
            ),
            lambda v1: reductions(v1, reduction_axes=[1], keep_dims=True),
            lambda v1: reductions(v1, axis=fed(v1, [0, -1])),
            lambda v1: v1.sparse_reduce_sum(sparse(v1, shape=fed(v1, np.int64([2, 3, 4])))),
            lambda v1: v1.sparse_reduce_sum(sparse(v1), fed(v1, [3])),
            lambda v1: v1.sparse_reduce_sum(sparse(v1, shape=[2, 3, 1]), -1),
            lambda v1: v1.sparse_reduce_sum(sparse(v1), axis=0, reduction_axes=0),
            lambda v1: v1.sparse_reduce_max(
                v1.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.float32), [2, 3]), 0
            ),
            lambda v1: v1.parallel_stack([v1.constant([1, 2]), [3, 4]]),
            lambda v1: v1.parallel_stack([v1.constant(1), 2]),
        ],
    )


def test_the_static_shapes_are_those_of_the_results() -> None:
    with capstan.Graph().as_default():
        assert capstan.sparse_reduce_sum(sparse(capstan), 1).shape.as_list() == [2, 4]
        kept = capstan.sparse_reduce_max(sparse(capstan), [0, 2], keepdims=True)
        assert kept.shape.as_list() == [1, 3, 1]
        assert capstan.parallel_stack([[1, 2], [3, 4]]).shape.as_list() == [2, 2]


@pytest.mark.parametrize("axis", [None, 0, [0, -1], [1]])
@pytest.mark.parametrize("keeps", [False, True])
def test_the_gradient_of_a_sum_is_tensorflows(v1: Any, axis: Any, keeps: bool) -> None:
    def gradient(v1: Any) -> Any:
        tensor = sparse(v1)
        total = v1.sparse_reduce_sum(tensor, axis, keeps)
        return v1.gradients(total * total, tensor.values)[0]

    assert outcome(capstan, gradient) == outcome(v1, gradient)


@pytest.mark.parametrize(
    "case",
    [
        lambda tf: tf.parallel_stack([tf.placeholder(tf.int32, [None]), [1, 2]]),
        lambda tf: tf.parallel_stack([[1, 2], tf.placeholder(tf.int32)]),
        lambda tf: tf.parallel_stack([[1], [2, 3]]),
        lambda tf: tf.sparse_reduce_sum(sparse(tf, shape=[2, 3]), [2]),
    ],
)
def test_wrong_arguments_are_refused_by_both(v1: Any, case: Any) -> None:
    for tf in (capstan, v1):
        refused = pytest.raises((ValueError, tf.errors.InvalidArgumentError))
        with tf.Graph().as_default(), tf.Session() as session, refused:
            session.run(case(tf))
