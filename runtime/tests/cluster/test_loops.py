"""Loops whose body waits or spans tasks, through sessions of a cluster."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.mark.e2e
def test_a_body_reads_and_changes_a_variable_of_a_ps(session: tf.Session) -> None:
    with session.graph.as_default(), tf.device(PS):
        held = tf.get_variable("held", initializer=np.float32([1, 2]))

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([total]):
            changed = held.assign_add([1.0, 10.0])
        with tf.control_dependencies([changed]):
            return i + 1, total * 2 + held.read_value()

    with tf.device(WORKER):
        i, total = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), tf.zeros([2])])
    session.run(held.initializer)
    expected = np.zeros(2)
    value = np.array([1.0, 2.0])
    for _ in range(5):
        value += [1, 10]
        expected = expected * 2 + value
    count, found = session.run([i, total])
    assert count == 5
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(session.run(held), value)


@pytest.mark.e2e
def test_each_iteration_crosses_three_tasks(session: tf.Session) -> None:
    def body(i: Any, y: Any) -> Any:
        with tf.device(OTHER):
            a = tf.tanh(y)
        with tf.device(PS):
            b = a + y
        return i + 1, b * 0.5

    with tf.device(WORKER):
        _, y = tf.while_loop(lambda i, _: i < 10, body, [tf.constant(0), tf.constant([1.0, -2.0])])
    expected = np.array([1.0, -2.0], np.float32)
    for _ in range(10):
        expected = (np.tanh(expected) + expected) * np.float32(0.5)
    for _ in range(2):
        np.testing.assert_allclose(session.run(y), expected, rtol=1e-6)


def test_the_exit_of_a_loop_may_be_on_another_task(session: tf.Session) -> None:
    with session.graph.as_default(), tf.device(lambda op: PS if op.type == "Exit" else WORKER):
        i = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    assert session.run(i) == 3


def test_a_failure_of_an_iteration_on_another_task_ends_the_step(session: tf.Session) -> None:
    def body(i: Any) -> Any:
        with tf.device(PS):
            return i + 10 // (3 - i)

    with tf.device(WORKER):
        i = tf.while_loop(lambda i: i < 3, body, [tf.constant(1)])
        failing = tf.while_loop(lambda i: i < 4, body, [tf.constant(3)])
    assert session.run(i) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        session.run(failing)
    assert session.run(i) == 6


@pytest.mark.e2e
def test_a_loop_without_end_on_several_tasks_ends_at_the_deadline(session: tf.Session) -> None:
    def body(i: Any) -> Any:
        with tf.device(PS):
            return i + 1

    with tf.device(WORKER):
        i = tf.while_loop(lambda i: i >= 0, body, [tf.constant(0.0)])
    options = tf.RunOptions(timeout_in_ms=300)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(i, options=options)
    assert session.run(tf.constant(7)) == 7


@pytest.mark.e2e
@pytest.mark.parametrize("device", [WORKER, PS], ids=["one task", "two tasks"])
def test_a_partial_run_runs_a_loop_once(session: tf.Session, device: str) -> None:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])

    def body(i: Any, a: Any) -> Any:
        with tf.device(device):
            return i + 1, a * x

    with tf.device(WORKER):
        _, power = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), x])
        total = power + y
    handle = session.partial_run_setup([power, total], [x, y])
    assert session.partial_run(handle, power, {x: 2.0}) == 16
    assert session.partial_run(handle, total, {y: 1.0}) == 17


@pytest.mark.e2e
def test_the_gradient_of_a_loop_runs_where_the_loop_keeps_its_values(session: tf.Session) -> None:
    """Without a device, the condition of the gradient's loop is on another task than its stacks."""
    x = tf.placeholder(tf.float32, [])
    with tf.device(OTHER):
        _, y = tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, y * y * x), [tf.constant(0), x]
        )
    (gradient,) = tf.gradients(y, [x])
    # y is x to the power of 15.
    assert session.run([y, gradient], {x: 2.0}) == [2.0**15, 15 * 2.0**14]
