"""What the transformations of a dataset accept, and what they refuse when they are called."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

Dataset = tf.data.Dataset


def elements(dataset: Any) -> list[Any]:
    iterator = dataset.make_initializable_iterator()
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("key", [7, np.int32(7)])
def test_the_key_of_a_group_may_be_an_integer_of_python_or_numpy(key: Any) -> None:
    grouped = Dataset.range(4).apply(
        tf.contrib.data.group_by_window(
            lambda _: key, lambda _, window: window.batch(3), window_size_func=lambda _: 3
        )
    )
    assert elements(grouped) == [[0, 1, 2], [3]]


def test_a_tensor_that_is_no_int64_is_no_key_of_a_group() -> None:
    group = tf.contrib.data.group_by_window(
        lambda x: tf.cast(x, tf.int32), lambda _, window: window, window_size=3
    )
    with pytest.raises(ValueError, match=r"must return a single tf\.int64 tensor"):
        Dataset.range(4).apply(group)


def test_a_padded_shape_must_have_room_for_its_component() -> None:
    vectors = Dataset.from_tensors([1, 2, 3])
    assert elements(vectors.padded_batch(2, padded_shapes=[4])) == [[[1, 2, 3, 0]]]
    with pytest.raises(ValueError, match=r"shape \(2,\) is not compatible .* shape \(3,\)"):
        vectors.padded_batch(2, padded_shapes=[2])


def test_a_padded_shape_has_no_size_below_minus_one() -> None:
    sizes = -tf.constant([5], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least -1, but one is -5"):
        elements(Dataset.from_tensors([1, 2, 3]).padded_batch(2, padded_shapes=sizes))


def test_components_of_different_sizes_have_no_slices_in_common() -> None:
    pair = Dataset.from_tensors((np.arange(7), np.arange(8)))
    with pytest.raises(ValueError, match="different batch sizes"):
        pair.apply(tf.contrib.data.unbatch())


def test_a_function_of_a_dataset_may_read_another_iterator() -> None:
    factors = Dataset.range(1, 5).make_initializable_iterator()
    multiplied = Dataset.range(4).map(lambda x: x * factors.get_next())
    iterator = multiplied.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run([factors.initializer, iterator.initializer])
        assert [session.run(following) for _ in range(4)] == [0, 2, 6, 12]
