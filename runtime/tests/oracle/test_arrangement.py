"""Arrays are rolled, repeated, searched and reinterpreted as by TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

STACK = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def fed(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.asarray(value), None)


def test_the_functions_have_tensorflows_values(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.roll([[1, 2, 3], [4, 5, 6]], [1, -1], [0, 1]),
            lambda tf: tf.manip.roll([1, 2, 3], shift=1, axis=0),
            lambda tf: tf.roll(["a", "b", "c"], [], np.zeros(0, np.int32)),
            lambda tf: tf.cross([1.0, 2, 3], [3.0, 1, 2]),
            lambda tf: tf.linalg.cross([[1, 2, 3]], [[3, 1, 2]]),
            lambda tf: tf.bitcast(np.float32([1, 2]), tf.int32),
            lambda tf: tf.bitcast(np.int64([1, -2]), tf.uint8),
            lambda tf: tf.bitcast(fed(tf, np.uint8([[1, 2, 3, 4], [5, 6, 7, 8]])), tf.float32),
            lambda tf: tf.unravel_index([1, 5], [2, 3]),
            lambda tf: tf.unravel_index(np.int64(4), np.int64([2, 3])),
            lambda tf: tf.searchsorted([1.0, 3, 5], [0.0, 3, 6]),
            lambda tf: tf.searchsorted([[1, 3], [2, 4]], [[3], [2]], "right", tf.int64),
            lambda tf: tf.repeat([1, 2], [3, 0]),
            lambda tf: tf.repeat([[1, 2], [3, 4]], [2, 1], axis=-1),
            lambda tf: tf.repeat([[1, 2], [3, 4]], 2),
            lambda tf: tf.repeat(3, 4),
            lambda tf: tf.repeat(fed(tf, [[1, 2], [3, 4]]), 2, axis=0),
            lambda tf: tf.repeat([1, 2], fed(tf, [-1, 2])),
            lambda tf: tf.batch_gather(STACK, [[1, 0], [2, 2]]),
            lambda tf: tf.batch_gather(fed(tf, STACK), np.zeros((2, 3, 1), np.int64)),
            lambda tf: tf.batch_gather(STACK[0, 0], [1, 3]),
            lambda tf: tf.batch_gather(np.zeros((2, 3, 0)), [[1, 0], [2, 2]]),
            lambda tf: tf.searchsorted(np.zeros((2, 0)), np.zeros((2, 3))),
            lambda tf: tf.searchsorted(fed(tf, np.zeros((2, 0))), fed(tf, np.zeros((2, 3)))),
            lambda tf: tf.searchsorted(np.zeros((2, 3)), np.zeros((2, 0)), "right"),
            lambda tf: tf.searchsorted(np.zeros((0, 3)), np.zeros((0, 2))),
            lambda tf: tf.searchsorted(np.zeros(0), [1.0, 2.0]),
            lambda tf: tf.reshape(np.zeros((0, 6)), [0, -1, 3]),
            lambda tf: tf.reshape(np.zeros((0, 6)), fed(tf, [0, -1, 3])),
            lambda tf: tf.reshape(np.zeros((3, 0, 4)), [-1, 0, 6]),
            lambda tf: tf.gather_nd(STACK, [[1], [0]]),
            lambda tf: tf.abs(np.int8([-3, 4])),
            lambda tf: tf.abs(np.int16([-3, 4])),
            lambda tf: tf.space_to_batch(fed(tf, np.ones((1, 2, 3, 1))), [[0, 0], [1, 0]], 2),
        ],
    )


def test_gradients_of_gathered_rows_are_indexed_slices(v1: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(STACK)
            (slope,) = tf.gradients(tf.gather_nd(x, [[1], [0], [1]]), x)
            assert isinstance(slope, tf.IndexedSlices)
            assert session.run(slope.indices).tolist() == [1, 0, 1]
            dense = session.run(tf.convert_to_tensor(slope))
            np.testing.assert_array_equal(dense[:, 0, 0], [1, 2])


def test_functions_of_elements_change_the_values_of_sparse_tensors(v1: Any) -> None:
    for name in ("abs", "negative", "sign", "square", "sqrt", "erf", "tanh"):
        found = []
        for tf in (capstan, v1):
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.SparseTensor([[0, 1], [1, 0]], [4.0, 0.25], [2, 2])
                found.append(session.run(getattr(tf, name)(x, name="y")))
                by_keyword = session.run(getattr(tf, name)(x=x))
                np.testing.assert_array_equal(by_keyword.values, found[-1].values)
        np.testing.assert_array_equal(found[0].indices, found[1].indices)
        np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-6)


def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.roll(fed(tf, 1), 1, 0),
            lambda tf: tf.roll(fed(tf, [1]), fed(tf, [1]), 0),
            lambda tf: tf.roll(fed(tf, [1]), fed(tf, [[1]]), 0),
            lambda tf: tf.roll(fed(tf, [1]), 1, fed(tf, -2)),
            lambda tf: tf.cross(fed(tf, [1]), fed(tf, [1])),
            lambda tf: tf.cross(fed(tf, 1), fed(tf, 1)),
            lambda tf: tf.cross(fed(tf, [1]), fed(tf, 1)),
            lambda tf: tf.bitcast(fed(tf, np.float32([1, 2, 3])), tf.float64),
            lambda tf: tf.unravel_index(fed(tf, [[1]]), [3, 3]),
            lambda tf: tf.unravel_index(fed(tf, [1]), fed(tf, 3)),
            lambda tf: tf.unravel_index(fed(tf, [9]), [3, 3]),
            lambda tf: tf.unravel_index(fed(tf, [0]), [3, 0]),
            lambda tf: tf.unravel_index(fed(tf, [0]), [3, -1]),
            lambda tf: tf.searchsorted([1, 2], [1], side="middle"),
            lambda tf: tf.repeat([1, 2], [1, 2, 3]),
            lambda tf: tf.repeat([1, 2], [1, 2], axis=3),
            lambda tf: tf.repeat([1, 2], [[1, 2]]),
            lambda tf: tf.batch_gather(STACK, fed(tf, [1])),
            lambda tf: tf.batch_gather(STACK[0, 0], [[1]]),
        ],
    )


DIFFERENTIABLE: list[Callable[[Any, Any], Any]] = [
    lambda tf, x: tf.repeat(x, 2, axis=1),
    lambda tf, x: tf.repeat(x, [2, 1, 3], axis=1),
    lambda tf, x: tf.repeat(x, 3),
    lambda tf, x: tf.batch_gather(x, [[1, 0], [2, 2]]),
    lambda tf, x: tf.roll(x, [1, 2], [0, 1]),
    lambda tf, x: tf.cross(x[..., :3], x[..., 1:]),
]


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
def test_shapes_and_gradients_are_those_of_tensorflow(v1: Any, number: int) -> None:
    found = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [2, 3, 4])
            y = DIFFERENTIABLE[number](tf, x)
            slope = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(y * y), x)[0])
            found.append((y.shape.as_list(), session.run(slope, {x: STACK}).tolist()))
    assert found[0] == found[1]


def test_an_index_of_another_batch_is_refused() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        outside = capstan.batch_gather(STACK, [[3], [0]])
        with pytest.raises(capstan.errors.InvalidArgumentError):
            session.run(outside)


def test_an_axis_that_is_no_int_is_refused() -> None:
    with pytest.raises(TypeError, match="`axis` must be an int"):
        capstan.repeat([1], 2, axis=0.5)  # type: ignore[arg-type]
    with capstan.Graph().as_default(), pytest.raises(ValueError, match="may only be negative"):
        capstan.repeat(capstan.placeholder(capstan.int32), 2, axis=-1)
