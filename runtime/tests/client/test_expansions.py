"""Sessions fetch and feed objects of classes that programs registered."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import capstan as tf
from capstan.client import expansions

register = tf.python.client.session.register_session_run_conversion_functions


class Interval:
    """Two tensors. A session fetches their sum."""

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high


class Closed(Interval):
    """A class that derives from a registered one."""


def registered(**functions: Any) -> None:
    register(Interval, lambda fetch: ([fetch.low, fetch.high], sum), **functions)


@pytest.fixture(autouse=True)
def _taken_back() -> Iterator[None]:
    before = list(expansions.REGISTERED)
    yield
    expansions.REGISTERED[:] = before


def split(key: Any, value: Any) -> list[tuple[Any, Any]]:
    return [(key.low, value[0]), (key.high, value[1])]


def test_a_registered_class_is_fetched_inside_nests_and_fed(graph: tf.Graph) -> None:
    registered(feed_function=split)
    low, high = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    for made in (Interval, Closed):
        interval = made(low, high)
        with tf.Session() as session:
            fed = {interval: (1.0, 2.0)}
            assert session.run({"a": [interval], "b": low}, fed) == {"a": [3.0], "b": 1.0}
            assert session.run([interval, high - low], {interval: (4.0, 6.0)}) == [10.0, 2.0]


def test_each_run_fetches_the_present_tensors_of_an_object(graph: tf.Graph) -> None:
    registered()
    interval = Interval(tf.constant(1), tf.constant(2))
    with tf.Session() as session:
        assert session.run([interval]) == [3]
        interval.high = tf.constant(5)
        assert session.run([interval]) == [6]


def test_the_members_of_a_tuple_of_keys_are_fed(graph: tf.Graph) -> None:
    class Pair(NamedTuple):
        interval: Any
        other: Any

    registered(feed_function=split)
    register(Pair, lambda fetch: ([], list), lambda key, value: [])
    interval = Interval(tf.placeholder(tf.float32), tf.placeholder(tf.float32))
    other = tf.placeholder(tf.float32)
    with tf.Session() as session:
        for key in ((interval, other), ((interval,), other), Pair(interval, other)):
            value = ([(1.0, 2.0)], 4.0) if isinstance(key[0], tuple) else ((1.0, 2.0), 4.0)
            assert session.run([interval, other], {key: value}) == [3.0, 4.0]
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
            session.run(other, {(interval, other): [1.0]})


def test_a_step_in_portions_takes_the_tensors_of_a_registered_class(graph: tf.Graph) -> None:
    registered(feed_function=split, feed_function_for_partial_run=lambda key: [key.low, key.high])
    interval = Interval(tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, []))
    total = interval.low + interval.high
    with tf.Session() as session:
        step = session.partial_run_setup([total], [interval])
        assert session.partial_run(step, total, {interval: (1.0, 2.0)}) == 3.0


def test_a_class_without_a_feed_function_cannot_be_fed(graph: tf.Graph) -> None:
    registered()
    interval = Interval(tf.placeholder(tf.float32), tf.placeholder(tf.float32))
    with tf.Session() as session:
        with pytest.raises(TypeError, match="registered without a `feed_function`"):
            session.run(interval, {interval: (1.0, 2.0)})
        with pytest.raises(TypeError, match="without a `feed_function_for_partial_run`"):
            session.partial_run_setup([interval.low], [interval])


@pytest.mark.parametrize("known", [Interval, object, tf.SparseTensor, tf.IndexedSlices])
def test_a_class_is_registered_once(known: type) -> None:
    registered()
    with pytest.raises(ValueError, match="has already been registered"):
        register(known, lambda fetch: ([], list))
