"""`tf.data`: elements that are made in other threads, and steps that wait for them."""

import threading
from typing import Any

import pytest
from elements import drained

import capstan as tf

Dataset = tf.data.Dataset
DEADLINE_S = 60


def test_parallel_calls_of_a_function_run_at_the_same_time() -> None:
    together = threading.Barrier(3)

    def meet(x: Any) -> Any:
        together.wait(DEADLINE_S)
        return x

    dataset = Dataset.range(6).map(lambda x: tf.py_func(meet, [x], tf.int64), 3)
    element = dataset.make_initializable_iterator()
    following = element.get_next()
    with tf.Session() as session:
        session.run(element.initializer)
        assert drained(session, following) == list(range(6))


def test_prefetch_makes_elements_while_no_step_asks_for_them() -> None:
    made, is_ahead = [], threading.Event()

    def note(x: Any) -> Any:
        made.append(int(x))
        if len(made) == 4:
            is_ahead.set()
        return x

    iterator = (
        Dataset.range(9)
        .map(lambda x: tf.py_func(note, [x], tf.int64))
        .prefetch(3)
        .make_initializable_iterator()
    )
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == 0
        assert is_ahead.wait(DEADLINE_S)
        assert drained(session, element) == list(range(1, 9))


def test_a_step_that_waits_for_an_element_ends_with_its_timeout_and_loses_no_element() -> None:
    may_go = threading.Event()

    def wait(x: Any) -> Any:
        may_go.wait(DEADLINE_S)
        return x

    iterator = (
        Dataset.range(3)
        .map(lambda x: tf.py_func(wait, [x], tf.int64))
        .make_initializable_iterator()
    )
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=tf.RunOptions(timeout_in_ms=50))
        may_go.set()
        assert drained(session, element) == [0, 1, 2]


def test_a_step_that_waits_for_an_element_ends_when_its_session_closes() -> None:
    is_waiting, may_go = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        is_waiting.set()
        may_go.wait(DEADLINE_S)
        return x

    iterator = (
        Dataset.range(3)
        .map(lambda x: tf.py_func(wait, [x], tf.int64))
        .make_initializable_iterator()
    )
    element = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    errors: list[Exception] = []

    def run() -> None:
        try:
            session.run(element)
        except tf.errors.OpError as error:
            errors.append(error)

    step = threading.Thread(target=run)
    step.start()
    assert is_waiting.wait(DEADLINE_S)
    session.close()
    step.join(DEADLINE_S)
    may_go.set()
    assert [type(error) for error in errors] == [tf.errors.CancelledError]


def test_a_function_may_wait_for_a_queue() -> None:
    queue = tf.FIFOQueue(10, tf.int32, [])
    iterator = Dataset.range(3).map(lambda x: queue.dequeue()).make_initializable_iterator()
    element, fill = iterator.get_next(), queue.enqueue_many([[5, 6, 7]])
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(fill)
        assert drained(session, element) == [5, 6, 7]
