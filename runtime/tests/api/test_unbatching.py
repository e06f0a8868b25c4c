"""Batch gives one step the rows of several steps, and Unbatch hands the results out."""

from collections.abc import Iterator, Sequence
from typing import Any

import background
import numpy as np
import pytest

import capstan as tf

LONG_US = 10**9
"""A time that no test waits for."""


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def batch(tensors: Sequence[Any], **options: Any) -> Any:
    given = {"max_batch_size": 3, "batch_timeout_micros": LONG_US, **options}
    return tf.raw_ops.Batch(
        in_tensors=tensors, num_batch_threads=1, grad_timeout_micros=LONG_US, **given
    )


def unbatch(batched: Any, of: Any, timeout_micros: int = LONG_US) -> Any:
    return tf.raw_ops.Unbatch(
        batched_tensor=batched, batch_index=of.batch_index, id=of.id, timeout_micros=timeout_micros
    )


def together(session: Any, fetches: Any, feeds: Sequence[Any]) -> list[Any]:
    """Return the results of steps that run at the same time."""
    runs = [background.Background(lambda each=each: session.run(fetches, each)) for each in feeds]
    return [run.join() for run in runs]


def test_one_step_gets_the_rows_of_all_and_each_step_its_own_results() -> None:
    x, word = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.string, [None])
    made = batch([x, word])
    rows, words = made.batched_tensors
    assert rows.shape.as_list() == [None, 2]
    assert made.batch_index.shape.as_list() == [None, 3]
    result = unbatch(tf.cumsum(rows), made)
    feeds = [{x: [[1, 10]], word: ["a"]}, {x: [[2, 20], [3, 30]], word: ["b", "c"]}]
    with tf.Session() as session:
        found = together(session, [tf.shape(rows)[0], words, made.batch_index, result], feeds)
    assert sorted(count for count, *_ in found) == [0, 3]
    (whole,) = [each for each in found if each[0]]
    (empty,) = [each for each in found if not each[0]]
    assert (empty[1].size, empty[2].shape) == (0, (0, 3))
    assert sorted(whole[1]) == [b"a", b"b", b"c"]
    assert whole[2][:, 1:].tolist() in ([[0, 1], [1, 3]], [[0, 2], [2, 3]])
    expected = {b"a": [1.0, 10], b"b": [2.0, 20], b"c": [3.0, 30]}
    sums = dict(
        zip(whole[1], np.cumsum([expected[each] for each in whole[1]], 0).tolist(), strict=True)
    )
    assert found[0][3].tolist() == [sums[b"a"]]
    assert found[1][3].tolist() == [sums[b"b"], sums[b"c"]]


def test_gradients_go_to_the_steps_of_the_rows() -> None:
    x, weight = tf.placeholder(tf.float32, [None]), tf.Variable(3.0)
    made = batch([x])
    result = unbatch(made.batched_tensors[0] * weight, made)
    slopes = tf.gradients(result * result, [x, weight])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = together(session, slopes, [{x: [1, 2]}, {x: [5]}])
    assert [each[0].tolist() for each in found] == [[18, 36], [90]]
    assert sorted(each[1] for each in found) == [0, 180]


def test_a_step_waits_no_longer_for_its_rows_than_the_timeout() -> None:
    key = tf.placeholder(tf.int64, [])
    nothing = tf.zeros([0, 3], tf.int64)
    result = tf.raw_ops.Unbatch(
        batched_tensor=tf.zeros([0]), batch_index=nothing, id=key, timeout_micros=1000
    )
    message = "did not arrive within timeout"
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.DeadlineExceededError, match=message),
    ):
        session.run(result, {key: 1})


def test_a_step_that_ends_waits_for_no_rows() -> None:
    rows, index = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [None, 3])
    key = tf.placeholder(tf.int64, [])
    result = tf.raw_ops.Unbatch(
        batched_tensor=rows, batch_index=index, id=key, timeout_micros=LONG_US
    )
    empty = {rows: [], index: np.zeros([0, 3]), key: 1}
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(result, empty, options=tf.RunOptions(timeout_in_ms=1))
        whole = {rows: [5, 6, 7], index: [[2, 0, 1], [1, 1, 3]], key: 2}
        assert session.run(result, whole).tolist() == [5]
        assert session.run(result, empty).tolist() == [6, 7]
        session.run(result, whole)
        with pytest.raises(tf.errors.AlreadyExistsError, match="Multiple tensors returned"):
            session.run(result, whole)


@pytest.mark.parametrize(
    ("rows", "index", "message"),
    [
        ([1.0], [[1, 0, 1], [2, 1, 2]], "Expected 0th dimension size to be no greater than 1"),
        ([1.0, 2.0], [[1, 0]], "Expected 1st dimension size to be 3 ; Got: 2"),
        ([1.0], [[1, 0, 2]], "Sum of split sizes must not exceed dim0-size"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(rows: Any, index: Any, message: str) -> None:
    result = tf.raw_ops.Unbatch(
        batched_tensor=rows, batch_index=np.int64(index), id=np.int64(1), timeout_micros=LONG_US
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(result)
