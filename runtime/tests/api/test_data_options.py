"""The options of datasets, which tune TensorFlow and change nothing in Capstan."""

from typing import Any

import pytest

import capstan as tf

experimental = tf.data.experimental


def test_options_that_tune_a_dataset_are_accepted_and_change_no_element() -> None:
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_optimization.map_and_batch_fusion = True
    options.experimental_threading.private_threadpool_size = 4
    options.experimental_stats.latency_all_edges = True
    options.experimental_distribute.auto_shard = False
    options.experimental_stateful_whitelist = ["RandomUniform"]
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(3).with_options(options)
        element = dataset.make_one_shot_iterator().get_next()
        assert [session.run(element) for _ in range(3)] == [0, 1, 2]


def test_options_that_are_not_set_have_their_defaults() -> None:
    first, second = tf.data.Options(), tf.data.Options()
    first.experimental_threading.private_threadpool_size = 4
    assert second.experimental_threading.private_threadpool_size is None
    assert second.experimental_distribute.auto_shard is True
    assert second.experimental_stats.prefix == ""
    assert second.experimental_optimization.map_vectorization.enabled is None
    assert second.experimental_deterministic is None
    assert isinstance(second.experimental_stats, experimental.StatsOptions)


def test_options_are_equal_if_all_values_are() -> None:
    first, second = tf.data.Options(), tf.data.Options()
    assert first == second
    first.experimental_threading.private_threadpool_size = 4
    assert first != second
    second.experimental_threading = experimental.ThreadingOptions()
    second.experimental_threading.private_threadpool_size = 4
    assert first == second
    assert first != 3


@pytest.mark.parametrize(
    "change, kind, message",
    [
        (lambda o: setattr(o, "experimental_slack", 1), TypeError, "must be of type"),
        (lambda o: setattr(o, "experimental_threading", None), TypeError, "must be of type"),
        (lambda o: setattr(o, "slack", True), AttributeError, "Cannot set the property slack"),
        (
            lambda o: setattr(o.experimental_optimization, "mapfusion", True),
            AttributeError, "mapfusion on OptimizationOptions",
        ),
        (hash, TypeError, "has no hash"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(change: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        change(tf.data.Options())


def test_a_dataset_merges_its_options() -> None:
    first, second, third = tf.data.Options(), tf.data.Options(), tf.data.Options()
    first.experimental_threading.private_threadpool_size = 4
    second.experimental_deterministic = False
    third.experimental_threading.private_threadpool_size = 5
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(3)
        assert dataset.options() == tf.data.Options()
        tuned = dataset.with_options(first).map(lambda x: x + 1).with_options(second)
        found = tuned.repeat(2).options()
        assert found.experimental_threading.private_threadpool_size == 4
        assert found.experimental_deterministic is False
        assert dataset.options() == tf.data.Options()
        with pytest.raises(ValueError, match=r"4 and 5\) of option: private_threadpool_size"):
            tuned.with_options(third)
        with pytest.raises(TypeError, match="Cannot merge options of type"):
            tuned.with_options(3)
