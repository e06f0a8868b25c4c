"""Random numbers in the functions of a pipeline: their streams last as long as the iterator."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

Dataset = tf.data.Dataset


def draw(_: Any) -> Any:
    return tf.random_uniform((), seed=11)


def drawn(source: Any) -> Any:
    return source.map(draw)


PIPELINES = {
    "map": lambda: drawn(Dataset.range(2)).repeat(2),
    "parallel map": lambda: Dataset.range(2).map(draw, num_parallel_calls=2).repeat(2),
    "flat_map": lambda: (
        Dataset.range(2).flat_map(lambda x: Dataset.from_tensors(draw(x))).repeat(2)
    ),
    "a map in a flat_map": lambda: Dataset.range(2).flat_map(lambda _: drawn(Dataset.range(2))),
    "a map in an interleave": lambda: Dataset.range(2).interleave(
        lambda _: drawn(Dataset.range(2)), cycle_length=2
    ),
    "scan": lambda: (
        Dataset.range(2)
        .apply(tf.data.experimental.scan(0.0, lambda state, x: (state, draw(x))))
        .repeat(2)
    ),
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES.keys())
def test_a_repeated_pipeline_goes_on_with_other_random_numbers(make: Callable[[], Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = make().make_initializable_iterator()
        following = iterator.get_next()

        def elements() -> list[Any]:
            session.run(iterator.initializer)
            return [session.run(following) for _ in range(4)]

        first = elements()
        assert len(set(first)) == 4
        assert set(elements()) == set(first)


def test_a_large_buffer_of_many_epochs_does_not_take_all_of_them() -> None:
    read: list[int] = []

    def noted(number: Any) -> Any:
        read.append(int(number))
        return number

    dataset = (
        tf.data.Dataset.range(5)
        .map(lambda number: tf.py_func(noted, [number], tf.int64))
        .apply(tf.data.experimental.shuffle_and_repeat(10**6, 10**6))
    )
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        found = [int(session.run(element)) for _ in range(10)]
    assert sorted(found[:5]) == sorted(found[5:]) == list(range(5))
    assert len(read) < 40
