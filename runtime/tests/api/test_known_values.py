"""`python.framework.tensor_util`: values and shapes that are known while the graph is built."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.framework import tensor_util


def test_a_constant_has_a_known_value() -> None:
    assert tensor_util.constant_value(tf.constant([1.5])).tolist() == [1.5]
    assert tensor_util.constant_value(tf.placeholder(tf.float32)) is None
    assert tensor_util.constant_value(tf.equal(tf.constant([1, 2]), 2)).tolist() == [False, True]
    assert tensor_util.constant_value(tf.not_equal(tf.constant(1), 1)).tolist() is False


def test_packed_values_may_be_known_in_part() -> None:
    fed = tf.placeholder(tf.int32, [])
    packed = tf.stack([tf.constant(1), fed])
    assert tensor_util.constant_value(packed) is None
    assert tensor_util.constant_value(packed, partial=True).tolist() == [1, None]
    rows = tf.stack([tf.constant([1, 2]), tf.placeholder(tf.int32, [2])])
    found = tensor_util.constant_value(rows, partial=True)
    assert found.shape == (2,)
    assert [found[0].tolist(), found[1]] == [[1, 2], None]
    columns = tf.stack([tf.constant([1, 2]), tf.placeholder(tf.int32, [2])], axis=1)
    assert tensor_util.constant_value(columns, partial=True) is None


def _shapes() -> list[tuple[Any, list[int | None] | None]]:
    rows = tf.placeholder(tf.float32, [None, 7])
    return [
        (tf.constant([3, -1]), [3, None]),
        (tf.constant(-1), None),
        (tf.shape(rows), [None, 7]),
        (tf.stack([tf.shape(rows)[0], 5]), [None, 5]),
        (tf.concat([[2], tf.shape(rows)], 0), [2, None, 7]),
        (tf.placeholder(tf.int32, [3]), [None, None, None]),
        (tf.placeholder(tf.int32, [None]), None),
        (tf.constant(np.zeros(0, np.int32)), []),
    ]


@pytest.mark.parametrize("number", range(8))
def test_a_vector_of_sizes_is_a_shape(number: int) -> None:
    tensor, wanted = _shapes()[number]
    found = tensor_util.constant_value_as_shape(tensor)
    assert (None if found.ndims is None else found.as_list()) == wanted


def test_a_shape_has_no_size_below_minus_one() -> None:
    with pytest.raises(ValueError, match="at least -1"):
        tensor_util.constant_value_as_shape(tf.constant([2, -3]))
    with pytest.raises(ValueError, match="must have rank 1"):
        tensor_util.constant_value_as_shape(tf.constant([[2.0]]))
