"""`tf.contrib.data`: transformations, among them those that only `tf.contrib` has."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf

data = tf.contrib.data


def drained(dataset: Any) -> list[Any]:
    """Return the elements of a dataset as lists."""
    found, element = [], dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        try:
            while True:
                found.append(session.run(element).tolist())
        except tf.errors.OutOfRangeError:
            return found


def test_the_transformations_of_data_experimental_have_their_old_names() -> None:
    for name in (
        *("AUTOTUNE", "CheckpointInputPipelineHook", "StatsAggregator", "TFRecordWriter"),
        *("latency_stats", "map_and_batch", "parallel_interleave", "shuffle_and_repeat"),
    ):
        assert getattr(data, name) is getattr(tf.data.experimental, name)
        assert name in dir(data)
    with pytest.raises(AttributeError, match=r"'capstan\.contrib\.data' .* 'LMDBDataset'"):
        _ = data.LMDBDataset


def test_an_aggregator_gets_what_a_dataset_measures() -> None:
    aggregator = data.StatsAggregator()
    dataset = tf.data.Dataset.range(3).apply(data.latency_stats("time"))
    with tf.Session() as session:
        dataset = dataset.apply(data.set_stats_aggregator(aggregator, "train"))
        iterator = dataset.make_initializable_iterator()
        following = iterator.get_next()
        session.run(iterator.initializer)
        session.run(following)
        (value,) = tf.Summary.FromString(session.run(aggregator.get_summary())).value
    assert (value.tag, value.histo.num) == ("train::time", 1)


def test_a_legacy_function_is_mapped_and_batched_like_another() -> None:
    mapping = tf.data.experimental.map_and_batch_with_legacy_function
    numbers = tf.data.Dataset.range(5)
    batches = numbers.apply(mapping(lambda x: 2 * x, 2, num_parallel_batches=1))
    whole = numbers.apply(mapping(lambda x: 2 * x, 2, None, True, num_parallel_calls=1))
    assert drained(batches) == [[0, 2], [4, 6], [8]]
    assert drained(whole) == [[0, 2], [4, 6]]
    with pytest.raises(ValueError, match="mutually exclusive"):
        mapping(lambda x: x, 2, num_parallel_batches=1, num_parallel_calls=1)


@given(
    count=st.integers(0, 12),
    size=st.integers(1, 4),
    shift=st.integers(1, 4),
    step=st.integers(1, 3),
)
def test_windows_slide_over_a_dataset(count: int, size: int, shift: int, step: int) -> None:
    with tf.Graph().as_default():
        sliding = data.sliding_window_batch(size, window_shift=shift, window_stride=step)
        found = drained(tf.data.Dataset.range(count).apply(sliding))
    starts = range(0, count - (size - 1) * step, shift)
    assert found == [list(range(start, start + size * step, step)) for start in starts]


def test_windows_keep_the_structure_of_elements() -> None:
    pairs = tf.data.Dataset.range(4).map(lambda x: (x, {"twice": x * 2}))
    first, rest = pairs.apply(data.sliding_window_batch(2, 2)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(first)
        assert session.run([first, rest["twice"]])[1].tolist() == [4, 6]
    with pytest.raises(ValueError, match="both `stride` and `window_shift`"):
        data.sliding_window_batch(2, stride=1, window_shift=1)


def test_a_last_batch_that_is_not_full_is_dropped() -> None:
    numbers = tf.data.Dataset.range(5)
    batches = numbers.apply(data.batch_and_drop_remainder(2))
    assert batches.output_shapes.as_list() == [2]
    assert drained(batches) == [[0, 1], [2, 3]]
    ragged = numbers.map(lambda x: tf.range(x))
    padded = ragged.apply(data.padded_batch_and_drop_remainder(2, [None]))
    assert drained(padded) == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]


def test_an_interleaved_dataset_has_all_elements() -> None:
    sloppy = data.sloppy_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 2)
    assert sorted(drained(tf.data.Dataset.range(3).apply(sloppy))) == [0, 0, 1, 1, 2, 2]


def test_elements_get_shapes_which_a_step_checks() -> None:
    def rows(x: Any) -> Any:
        return tf.py_func(lambda number: np.ones((int(number), 3)), [x], tf.float64)

    checked = tf.data.Dataset.range(2, 4).map(rows).apply(data.assert_element_shape([2, None]))
    assert checked.output_shapes.as_list() == [2, None]
    element = checked.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(element).shape == (2, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[3,3\]"):
            session.run(element)
    with pytest.raises(ValueError, match="must be equal"):
        tf.data.Dataset.from_tensors([1]).apply(data.assert_element_shape([2]))


def test_a_dataset_is_reduced_to_one_value() -> None:
    mean = data.Reducer(
        lambda _: (np.float32(0), np.int64(0)),
        lambda state, x: (state[0] + tf.cast(x, tf.float32), state[1] + 1),
        lambda total, count: total / tf.cast(count, tf.float32),
    )
    with tf.Session() as session:
        assert session.run(data.reduce_dataset(tf.data.Dataset.range(5), mean)) == 2.0


def test_a_batch_of_features_is_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for number in range(4):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            features = tf.train.Features(feature={"x": value})
            writer.write(tf.train.Example(features=features).SerializeToString())
    batch = data.read_batch_features(
        str(path), 2, {"x": tf.FixedLenFeature([], tf.int64)}, randomize_input=False, num_epochs=1
    )
    with tf.Session() as session:
        assert [session.run(batch["x"]).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
