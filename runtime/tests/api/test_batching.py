"""`tf.nondifferentiable_batch_function` joins the calls of steps that run at the same time."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import background
import numpy as np
import pytest

import capstan as tf
from capstan.python.ops import batch_ops

LONG_US = 10**9
"""A time that no test waits for."""


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def numbers() -> Any:
    return tf.placeholder(tf.int32, [None])


def together(session: Any, fetches: Any, feeds: Sequence[Any]) -> list[Any]:
    """Return the results of steps that run at the same time."""
    runs = [background.Background(lambda each=each: session.run(fetches, each)) for each in feeds]
    return [run.join() for run in runs]


def test_the_names_of_the_function() -> None:
    assert tf.contrib.batching.batch_function is tf.nondifferentiable_batch_function
    assert batch_ops.batch_function is tf.nondifferentiable_batch_function


def test_the_gradient_of_a_call_is_refused_and_not_left_out() -> None:
    x = tf.placeholder(tf.float32, [None])
    (y,) = tf.nondifferentiable_batch_function(1, 4, 0)(lambda rows: rows * 2.0)(x)
    with pytest.raises(
        LookupError, match="No gradient defined for operation 'batch/BatchFunction'"
    ):
        tf.gradients(y, x)


def test_calls_of_several_steps_are_one_call() -> None:
    sizes: list[int] = []

    def called(x: Any) -> Any:
        sizes.append(len(x))
        return x * 2

    @tf.nondifferentiable_batch_function(1, 6, LONG_US)
    def doubled(x: Any) -> Any:
        result = tf.py_func(called, [x], tf.int32)
        result.set_shape(x.shape)
        return result

    x = numbers()
    results = doubled(x)
    assert isinstance(results, list)
    assert results[0].op.type == "BatchFunction"
    with tf.Session() as session:
        found = together(session, results[0], [{x: [1, 2]}, {x: [3]}, {x: [4, 5, 6]}])
    assert [each.tolist() for each in found] == [[2, 4], [6], [8, 10, 12]]
    assert sizes == [6]


def test_a_call_waits_no_longer_than_the_timeout() -> None:
    @tf.nondifferentiable_batch_function(1, 100, 1000)
    def both(x: Any, y: Any) -> Any:
        return x + y, tf.reduce_sum(x) + y

    x, y = numbers(), numbers()
    with tf.Session() as session:
        total, sums = session.run(both(x, y), {x: [1, 2], y: [10, 20]})
    assert (total.tolist(), sums.tolist()) == ([11, 22], [13, 23])


def test_a_batch_is_padded_with_its_first_row() -> None:
    @tf.nondifferentiable_batch_function(1, 8, 1000, allowed_batch_sizes=[2, 4, 8])
    def sums(x: Any) -> Any:
        return tf.zeros_like(x) + tf.reduce_sum(x)

    x = numbers()
    with tf.Session() as session:
        assert session.run(sums(x)[0], {x: [5, 6, 7]}).tolist() == [23] * 3


def test_a_function_reads_tensors_around_it_and_statements_of_python() -> None:
    factor = tf.placeholder(tf.int32, [])

    @tf.nondifferentiable_batch_function(2, 4, 1000)
    def scaled(x: Any) -> Any:
        if tf.reduce_sum(x) > 3:
            x = x * factor
        return x

    x = numbers()
    result = scaled(x)[0]
    with tf.Session() as session:
        assert session.run(result, {x: [1, 4], factor: 3}).tolist() == [3, 12]
        assert session.run(result, {x: [1], factor: 3}).tolist() == [1]


def test_a_step_that_ends_leaves_its_batch() -> None:
    @tf.nondifferentiable_batch_function(1, 2, LONG_US)
    def same(x: Any) -> Any:
        return x

    x = numbers()
    result = same(x)[0]
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(result, {x: [1]}, options=tf.RunOptions(timeout_in_ms=1))
        found = together(session, result, [{x: [2]}, {x: [3]}])
    assert [each.tolist() for each in found] == [[2], [3]]


def test_too_many_batches_are_refused() -> None:
    may_go = threading.Event()
    has_begun = threading.Event()

    def called(x: Any) -> Any:
        has_begun.set()
        may_go.wait()
        return x

    @tf.nondifferentiable_batch_function(1, 1, 0, max_enqueued_batches=1)
    def waiting(x: Any) -> Any:
        result = tf.py_func(called, [x], tf.int32)
        result.set_shape(x.shape)
        return result

    x = numbers()
    result = waiting(x)[0]
    with tf.Session() as session:
        first = background.Background(lambda: session.run(result, {x: [1]}))
        has_begun.wait()
        others = [background.Background(lambda: session.run(result, {x: [2]})) for _ in range(2)]
        background.until(lambda: any(not other.is_alive() for other in others))
        may_go.set()
        assert first.join().tolist() == [1]
        outcomes = []
        for other in others:
            try:
                outcomes.append(other.join().tolist())
            except tf.errors.UnavailableError as error:
                outcomes.append("is full" in error.message)
    assert sorted(map(str, outcomes)) == ["True", "[2]"]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [([4, 2, 8], "must be monotonically increasing"), ([2, 4], "must equal max_batch_size")],
)
def test_the_allowed_sizes_fit(sizes: list[int], message: str) -> None:
    @tf.nondifferentiable_batch_function(1, 8, 0, allowed_batch_sizes=sizes)
    def same(x: Any) -> Any:
        return x

    x = tf.placeholder_with_default(np.int32([1]), [None])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=message),
    ):
        session.run(same(x))


@pytest.mark.parametrize(
    ("function", "given", "error", "message"),
    [
        (lambda x: x, np.int32(1), "InvalidArgumentError", "have at least one dimension"),
        (lambda x: x, np.int32([1, 2, 3]), "InvalidArgumentError", "Task size 3 is larger than"),
        (lambda x: tf.reduce_sum(x), np.int32([1]), "FailedPreconditionError", "0 dimensions"),
        (
            lambda x: tf.concat([x, x], 0),
            np.int32([1]),
            "FailedPreconditionError",
            "0th dimension does not equal the sum",
        ),
        (
            lambda x: tf.check_numerics(x / 0.0, "bad"),
            np.float32([1]),
            "InvalidArgumentError",
            "bad",
        ),
    ],
)
def test_wrong_calls_end_their_steps(function: Any, given: Any, error: str, message: str) -> None:
    decorated = tf.nondifferentiable_batch_function(1, 2, 0)(function)
    x = tf.placeholder_with_default(given, None)
    with (
        tf.Session() as session,
        pytest.raises(getattr(tf.errors, error), match=message),
    ):
        session.run(decorated(x))


def test_arguments_are_tensors() -> None:
    with pytest.raises(ValueError, match="are supposed to be Tensors; found 1"):
        tf.nondifferentiable_batch_function(1, 2, 0)(lambda x: x)(1)
