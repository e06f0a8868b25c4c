"""`tf.data.experimental.StatsAggregator` collects what the parts of datasets measure."""

from typing import Any

import pytest

import capstan as tf
from capstan.python.data.experimental.ops import stats_aggregator, stats_ops

experimental = tf.data.experimental


def numbers_of(session: Any, aggregator: Any) -> dict[str, tuple[float, float]]:
    """Return the number and the sum of what was measured, by tag."""
    summary = tf.Summary.FromString(session.run(aggregator.get_summary()))
    return {value.tag: (value.histo.num, value.histo.sum) for value in summary.value}


@pytest.mark.parametrize("are_options_last", [False, True])
def test_options_name_the_aggregator_of_a_dataset(are_options_last: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        aggregator = experimental.StatsAggregator()
        options = tf.data.Options()
        options.experimental_stats.aggregator = aggregator
        options.experimental_stats.prefix = "train"
        dataset = tf.data.Dataset.range(5).batch(2)
        if not are_options_last:
            dataset = dataset.with_options(options)
        dataset = dataset.apply(experimental.bytes_produced_stats("bytes"))
        dataset = dataset.apply(experimental.latency_stats("time"))
        if are_options_last:
            dataset = dataset.with_options(options)
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        session.run(iterator.initializer)
        assert [session.run(following).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4]]
        found = numbers_of(session, aggregator)
    assert found["train::bytes"] == (3, 40)
    assert found["train::time"][0] == 3


def test_a_dataset_without_an_aggregator_measures_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        aggregator = experimental.StatsAggregator()
        dataset = tf.data.Dataset.range(2).apply(experimental.latency_stats("time"))
        following = tf.data.make_one_shot_iterator(dataset).get_next()
        assert session.run(following) == 0
        assert numbers_of(session, aggregator) == {}


def test_a_dataset_that_is_measured_has_as_many_elements() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        options = tf.data.Options()
        options.experimental_stats.aggregator = experimental.StatsAggregator()
        dataset = tf.data.Dataset.range(5).apply(experimental.latency_stats("time"))
        assert session.run(experimental.cardinality(dataset.with_options(options))) == 5


def test_the_last_aggregator_of_a_dataset_gets_what_all_its_parts_measure() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, last = experimental.StatsAggregator(), stats_aggregator.StatsAggregatorV1()
        dataset = tf.data.Dataset.range(2).apply(experimental.bytes_produced_stats("inner"))
        dataset = dataset.apply(stats_ops.set_stats_aggregator(first))
        dataset = dataset.apply(experimental.bytes_produced_stats("outer"))
        dataset = dataset.apply(stats_ops.set_stats_aggregator(last, "last"))
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        session.run(iterator.initializer)
        session.run(following)
        assert numbers_of(session, last) == {"last::inner": (1, 8), "last::outer": (1, 8)}
        assert numbers_of(session, first) == {}
