"""Large numbers, empty images and unsorted rows, which operations of newer clients may get."""

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw


def test_large_integers_of_several_rows_are_counted_apart() -> None:
    large = 1 << 62
    values = tf.constant([[large, 1], [large, 5], [large, large]], tf.int64)
    counted = raw.DenseCountSparseOutput(values, [], binary_output=False, T=tf.int64)
    with tf.Session() as session:
        indices, counts, _ = session.run(counted)
    assert indices.tolist() == [[0, 1], [0, large], [1, 5], [1, large], [2, large]]
    assert counts.tolist() == [1, 1, 1, 1, 2]


def test_no_integer_is_below_a_length_of_zero() -> None:
    counted = raw.DenseCountSparseOutput([1, 0], [], binary_output=False, maxlength=0)
    with tf.Session() as session:
        indices, counts, shape = session.run(counted)
    assert (indices.shape, counts.tolist(), shape.tolist()) == ((0, 1), [], [0])


@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_a_transformed_image_without_pixels_is_filled(interpolation: str) -> None:
    images = np.zeros((1, 0, 3, 1), np.float32)
    same = np.array([[1, 0, 0, 0, 1, 0, 0, 0]], np.float32)
    made = raw.ImageProjectiveTransformV3(images, same, [2, 2], 3.5, interpolation=interpolation)
    with tf.Session() as session:
        assert session.run(made).tolist() == [[[[3.5]] * 2] * 2]


def test_the_rows_of_a_sparse_batch_must_be_sorted() -> None:
    places, shape = np.array([[1, 0], [0, 0]]), np.array([2, 1])
    added = raw.AddManySparseToTensorsMap(places, [1.0, 2.0], shape)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.sparse\.reorder"),
    ):
        session.run(added)
