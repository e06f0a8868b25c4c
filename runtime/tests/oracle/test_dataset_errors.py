"""After an error, a dataset goes on with the elements that follow in TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Make = Callable[[Any], Any]


def outcomes(tf: Any, make: Make) -> list[Any]:
    """Return the elements of a dataset and the kinds of its errors, up to the end."""
    found: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(make(tf)).get_next()
        while "OutOfRangeError" not in found:
            try:
                found.append(np.round(session.run(following), 4).tolist())
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
    return found


def failing(tf: Any, count: int, *places: int) -> Any:
    """Return the numbers up to `count`. The elements at `places` are errors."""

    def checked(x: Any) -> Any:
        number = tf.cast(x, tf.float32)
        product = tf.constant(1.0)
        for place in places:
            product *= number - place
        with tf.control_dependencies([tf.check_numerics(1.0 / product, "an error")]):
            return tf.identity(x)

    return tf.data.Dataset.range(count).map(checked)


def windows(count: int, places: tuple[int, ...], *arguments: Any, **options: Any) -> Make:
    def make(tf: Any) -> Any:
        windowed = failing(tf, count, *places).window(*arguments, **options)
        return windowed.flat_map(lambda window: window.batch(10))

    return make


WINDOWS = [
    windows(8, (3,), 2),
    windows(8, (3,), 3, shift=1),
    windows(8, (3,), 3, shift=2, drop_remainder=True),
    windows(10, (3,), 2, shift=1, stride=2),
    windows(10, (3,), 2, shift=3),
    windows(10, (2,), 2, shift=3),
    windows(10, (2, 3), 2, shift=1),
    windows(6, (0,), 3, shift=1),
    windows(6, (5,), 3, shift=1),
]


@pytest.mark.parametrize("make", WINDOWS)
def test_each_window_with_an_error_fails(v1: Any, make: Make) -> None:
    assert outcomes(capstan, make) == outcomes(v1, make)


SOURCES = {
    "of the input": lambda tf: (
        failing(tf, 5, 2),
        lambda x: tf.data.Dataset.range(10 * x, 10 * x + 3),
    ),
    "of the function": lambda tf: (
        tf.data.Dataset.range(4),
        lambda x: tf.data.Dataset.range(tf.div(10 * x * (x - 1), x - 1), 10 * x + 3),
    ),
    "of an element": lambda tf: (
        tf.data.Dataset.range(4),
        lambda x: failing(tf, 4, 2).map(lambda y: 10 * x + y),
    ),
}


@pytest.mark.parametrize("cycle", [2, 3])
@pytest.mark.parametrize(
    ("kind", "block"),
    # With blocks of 2, the order of TensorFlow's old op depends on the times of its threads.
    [("plain", 1), ("plain", 2), ("with calls", 1), ("with calls", 2), ("parallel", 1)],
)
@pytest.mark.parametrize("name", SOURCES)
def test_an_interleaving_keeps_its_order(
    v1: Any, name: str, kind: str, cycle: int, block: int
) -> None:
    def make(tf: Any) -> Any:
        source, function = SOURCES[name](tf)
        if kind == "parallel":
            interleave = tf.data.experimental.parallel_interleave
            return source.apply(interleave(function, cycle_length=cycle, block_length=block))
        calls = 2 if kind == "with calls" else None
        return source.interleave(function, cycle, block, num_parallel_calls=calls)

    assert outcomes(capstan, make) == outcomes(v1, make)


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("options", [{}, {"num_parallel_calls": 2}, {"num_parallel_batches": 2}])
@pytest.mark.parametrize("places", [(0,), (2,), (3,), (6,), (2, 3)])
@pytest.mark.parametrize("error", [StopIteration, ValueError])
def test_an_error_of_a_map_takes_the_place_of_its_batch(
    v1: Any, error: type[Exception], places: tuple[int, ...], options: Any, drops: bool
) -> None:
    def called(value: Any) -> Any:
        if int(value) in places:
            raise error("an error of the program")
        return np.float32(value)

    def make(tf: Any) -> Any:
        def function(x: Any) -> Any:
            result = tf.py_func(called, [x], tf.float32)
            result.set_shape([])
            return result

        batches = tf.data.experimental.map_and_batch(function, 2, drop_remainder=drops, **options)
        return tf.data.Dataset.range(7).apply(batches)

    assert outcomes(capstan, make) == outcomes(v1, make)


def test_batches_of_a_map_are_counted_and_have_static_shapes(v1: Any) -> None:
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            batches = tf.data.experimental.map_and_batch(lambda x: (x, [x]), 3, drop_remainder=True)
            dataset = tf.data.Dataset.range(7).apply(batches)
            shapes = [each.as_list() for each in tf.data.get_output_shapes(dataset)]
            found.append((shapes, session.run(tf.data.experimental.cardinality(dataset))))
    assert found[0] == found[1]


def ending(tf: Any, x: Any) -> Any:
    """Return `x`, or raise OutOfRangeError if it is 2."""

    def called(value: Any) -> Any:
        if value == 2:
            raise StopIteration
        return value

    result = tf.py_func(called, [x], tf.int64)
    result.set_shape([])
    return result


ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "filter": lambda tf, rows: rows.filter(lambda x: ending(tf, x) >= 0),
    "flat_map": lambda tf, rows: rows.flat_map(lambda x: tf.data.Dataset.range(ending(tf, x))),
    "interleave": lambda tf, rows: rows.interleave(
        lambda x: tf.data.Dataset.range(ending(tf, x)), 2
    ),
    "parallel_interleave": lambda tf, rows: rows.apply(
        tf.data.experimental.parallel_interleave(lambda x: tf.data.Dataset.range(ending(tf, x)), 2)
    ),
    "scan": lambda tf, rows: rows.apply(
        tf.data.experimental.scan(np.int64(0), lambda state, x: (state + 1, ending(tf, x)))
    ),
    "take_while": lambda tf, rows: rows.apply(
        tf.data.experimental.take_while(lambda x: ending(tf, x) >= 0)
    ),
    "group_by_window": lambda tf, rows: rows.apply(
        tf.data.experimental.group_by_window(
            lambda x: ending(tf, x) % 2, lambda _, window: window.batch(2), 2
        )
    ),
    "parallel map": lambda tf, rows: rows.map(lambda x: ending(tf, x), num_parallel_calls=2),
}


def outcomes_to_the_second_end(tf: Any, make: Make) -> list[Any]:
    """Return what 20 reads of a dataset give."""
    found: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(make(tf)).get_next()
        for _ in range(20):
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("name", ENDS)
def test_only_a_map_ends_at_the_end_of_its_function(v1: Any, name: str) -> None:
    def make(tf: Any) -> Any:
        return ENDS[name](tf, tf.data.Dataset.range(5))

    assert outcomes_to_the_second_end(capstan, make) == outcomes_to_the_second_end(v1, make)


def ended(tf: Any) -> Any:
    """Return a dataset whose first pass ends at 2, and that goes on after it with 3 and 4."""
    return tf.data.Dataset.range(5).map(lambda x: ending(tf, x))


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda tf, rows: rows,
    "map": lambda tf, rows: rows.map(lambda x: x + 1),
    "scan": lambda tf, rows: rows.apply(
        tf.data.experimental.scan(np.int64(0), lambda state, x: (state + x, state + x))
    ),
    "batch": lambda tf, rows: rows.batch(3),
    "whole batch": lambda tf, rows: rows.batch(2),
    "padded_batch": lambda tf, rows: rows.padded_batch(3, []),
    "take": lambda tf, rows: rows.take(9),
    "take all": lambda tf, rows: rows.take(-1),
    "skip": lambda tf, rows: rows.skip(1),
    "shard": lambda tf, rows: rows.shard(2, 0),
    "filter": lambda tf, rows: rows.filter(lambda x: x >= 0),
    "flat_map": lambda tf, rows: rows.flat_map(tf.data.Dataset.from_tensors),
    "interleave": lambda tf, rows: rows.interleave(tf.data.Dataset.from_tensors, 1),
    "zip": lambda tf, rows: tf.data.Dataset.zip((rows, rows)).map(lambda x, y: x + y),
    "unbatch": lambda tf, rows: rows.map(lambda x: tf.reshape(x, [1])).apply(
        tf.data.experimental.unbatch()
    ),
    "window": lambda tf, rows: rows.window(2, 1).flat_map(lambda window: window.batch(2)),
    "repeat": lambda tf, rows: rows.repeat(2),
    "concatenate": lambda tf, rows: rows.concatenate(tf.data.Dataset.range(2)),
    "shuffle": lambda tf, rows: rows.shuffle(1),
    "cache": lambda tf, rows: rows.cache(),
    "prefetch": lambda tf, rows: rows.prefetch(1),
    "ignore_errors": lambda tf, rows: rows.apply(tf.data.experimental.ignore_errors()),
    "unique": lambda tf, rows: rows.apply(tf.data.experimental.unique()),
    "take_while": lambda tf, rows: rows.apply(tf.data.experimental.take_while(lambda x: x >= 0)),
    "group_by_window": lambda tf, rows: rows.apply(
        tf.data.experimental.group_by_window(
            lambda x: np.int64(0), lambda _, window: window.batch(5), 5
        )
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_what_reads_a_map_after_its_end_goes_on_or_not(v1: Any, name: str) -> None:
    def make(tf: Any) -> Any:
        made = READERS[name](tf, ended(tf))
        if tf is capstan:
            return made
        # TensorFlow's optimizations add a prefetch, and join a map with a batch.
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.inject_prefetch = False
        options.autotune.enabled = False
        return made.with_options(options)

    assert outcomes_to_the_second_end(capstan, make) == outcomes_to_the_second_end(v1, make)
