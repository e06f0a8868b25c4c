"""Stacks, TensorArrays, variables and queues of loops whose bodies are on several tasks."""

from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
TASKS = (PS, WORKER, OTHER)


def check_as_local(
    session: tf.Session, build: Callable[..., Any], feed: Any, places: Any = TASKS
) -> None:
    """Check that `build(x, places)` gives the same values on `places` as on one task."""
    with tf.Graph().as_default(), tf.Session() as local:
        x = tf.placeholder(tf.float32, np.shape(feed))
        expected = local.run(build(x, ("", "", "")), {x: feed})
    x = tf.placeholder(tf.float32, np.shape(feed))
    fetches = build(x, places)
    for _ in range(2):
        for found, wanted in zip(session.run(fetches, {x: feed}), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def power(x: Any, places: tuple[str, str, str]) -> Any:
    """Return a power of `x` that a loop computes on three tasks."""
    first, second, third = places

    def body(i: Any, y: Any) -> Any:
        with tf.device(first):
            a = y * y
        with tf.device(second):
            b = a * x
        with tf.device(third):
            return i + 1, b * y

    with tf.device(third):
        _, y = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), x])
    return y


@pytest.mark.e2e
@pytest.mark.parametrize("places", [TASKS, TASKS[::-1], (PS, PS, WORKER), (PS, OTHER, PS)])
def test_the_gradient_of_a_loop_whose_stacks_are_on_several_tasks(
    session: tf.Session, places: tuple[str, str, str]
) -> None:
    def build(x: Any, places: tuple[str, str, str]) -> Any:
        y = power(x, places)
        return [y, *tf.gradients(y, [x])]

    check_as_local(session, build, np.float32([1.5, -0.5]), places)


@pytest.mark.e2e
def test_the_gradient_of_nested_loops_on_several_tasks(session: tf.Session) -> None:
    def build(x: Any, places: tuple[str, str, str]) -> Any:
        def outer(i: Any, y: Any) -> Any:
            with tf.device(places[0]):
                scaled = y * x

            def inner(j: Any, z: Any) -> Any:
                with tf.device(places[1]):
                    squared = z * z
                with tf.device(places[2]):
                    return j + 1, squared + scaled

            _, z = tf.while_loop(lambda j, _: j < 2, inner, [tf.constant(0), scaled])
            return i + 1, z * y

        with tf.device(places[1]):
            _, y = tf.while_loop(lambda i, _: i < 3, outer, [tf.constant(0), x])
        return [y, *tf.gradients(y, [x])]

    check_as_local(session, build, np.float32([0.5, -0.25]))


@pytest.mark.e2e
def test_an_array_that_a_loop_writes_on_another_task_is_read_outside(session: tf.Session) -> None:
    def build(x: Any, places: tuple[str, str, str]) -> Any:
        with tf.device(places[0]):
            array = tf.TensorArray(tf.float32, 4)

        def body(i: Any, y: Any, array: Any) -> Any:
            with tf.device(places[0]):
                squared = y * y
            with tf.device(places[2]):
                following = squared - x
            return i + 1, following, array.write(i, squared)

        with tf.device(places[1]):
            _, _, array = tf.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), x, array])
        with tf.device(places[2]):
            stacked = array.stack()
            total = tf.reduce_sum(stacked * [[1.0], [2.0], [3.0], [4.0]])
        return [stacked, total, *tf.gradients(total, [x])]

    check_as_local(session, build, np.float32([0.5, -1.5]))


@pytest.mark.e2e
def test_a_loop_in_a_branch_waits_for_a_queue_and_changes_a_variable(session: tf.Session) -> None:
    with tf.device(PS):
        held = tf.get_variable("held", initializer=np.float32([1, 2]))
        queue = tf.FIFOQueue(10, [tf.float32], [[2]])
    fill = [queue.enqueue(np.float32([step, 1])) for step in range(2)]
    is_on = tf.placeholder(tf.bool, [])

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([total]):
            changed = tf.assign_add(held, queue.dequeue())
        return i + 1, total + changed

    def loop() -> Any:
        return tf.while_loop(lambda i, _: i < 2, body, [tf.constant(0), tf.zeros([2])])[1]

    with tf.device(WORKER):
        total = tf.cond(is_on, loop, lambda: tf.zeros([2]))
    session.run(held.initializer)
    np.testing.assert_array_equal(session.run(total, {is_on: False}), [0, 0])
    for enqueue in fill:
        session.run(enqueue)
    np.testing.assert_array_equal(session.run(total, {is_on: True}), [1 + 2, 3 + 4])
    np.testing.assert_array_equal(session.run(held), [2, 4])


def test_a_reader_that_waits_for_a_loop_gets_the_variable_that_the_loop_changed(
    session: tf.Session,
) -> None:
    with tf.device(PS):
        held = tf.get_variable("held", initializer=np.float32([1, 2]))

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(held, [1.0, 10.0])]):
            return i + 1

    with tf.device(WORKER):
        end = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
        with tf.control_dependencies([end]):
            after = raw.Identity(session.graph.get_tensor_by_name("held:0"))
    session.run(held.initializer)
    np.testing.assert_array_equal(session.run(after), [4, 32])


@pytest.mark.e2e
@pytest.mark.parametrize("home", [PS, WORKER])
def test_a_value_read_before_a_loop_is_not_changed_by_the_loop(
    session: tf.Session, home: str
) -> None:
    kind = {"dtype": tf.float32}
    with tf.device(PS):
        held = raw.VarHandleOp(shape=tf.TensorShape([2]), shared_name="held", **kind)
        initializer = raw.AssignVariableOp(held, np.float32([1, 2]), **kind)
        queue = tf.FIFOQueue(10, [tf.float32], [[]])
        before, read = (raw.ReadVariableOp(held, **kind) for _ in range(2))

    def body(i: Any) -> Any:
        change = raw.AssignAddVariableOp(held, np.float32([1, 10]), **kind)
        with tf.control_dependencies([queue.dequeue(), change]):
            return i + 1

    with tf.device(home), tf.control_dependencies([before]):
        end = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.device(PS):
        total = before + tf.cast(end, tf.float32)
    session.run(initializer)
    session.run([queue.enqueue(0.0), queue.enqueue(1.0), queue.enqueue(2.0)])
    np.testing.assert_array_equal(session.run(total), [4, 5])
    np.testing.assert_array_equal(session.run(read), [4, 32])


@pytest.mark.e2e
def test_a_loop_over_tasks_uses_the_reference_that_a_change_returns(session: tf.Session) -> None:
    with tf.device(PS):
        held = tf.get_variable("held", initializer=np.float32([1, 2]))
        queue = tf.FIFOQueue(1, [tf.float32], [[2]])
        reference = session.graph.get_tensor_by_name("held:0")
        changed = raw.AssignAdd(reference, queue.dequeue())

    def body(i: Any, total: Any) -> Any:
        with tf.device(PS), tf.control_dependencies([total]):
            following = raw.AssignSub(changed, np.float32([0.5, 1]))
        return i + 1, total + following

    with tf.device(WORKER):
        _, total = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.zeros([2])])
    enqueue = queue.enqueue(np.float32([10, 20]))
    for _ in range(2):  # the second step is compiled
        session.run(held.initializer)
        with futures.ThreadPoolExecutor(1) as threads:
            running = threads.submit(session.run, total)
            before = [session.run(held) for _ in range(50)]
            session.run(enqueue)
            np.testing.assert_array_equal(running.result(), [10.5 + 10 + 9.5, 21 + 20 + 19])
        np.testing.assert_array_equal(before, [[1, 2]] * 50)  # the loop waited for the change
    np.testing.assert_array_equal(session.run(held), [9.5, 19])


@pytest.mark.e2e
def test_a_loop_over_tasks_may_pass_on_a_list_that_nobody_reads(session: tf.Session) -> None:
    tf.enable_control_flow_v2()
    try:
        x = tf.placeholder(tf.float32, [])
        with tf.device(WORKER):
            unread = raw.EmptyTensorList([2], -1, element_dtype=tf.float32)

        def body(i: Any, y: Any, handle: Any) -> Any:
            with tf.device(PS):
                return i + 1, y * 2.0, handle

        with tf.device(WORKER):
            _, y, _ = tf.while_loop(lambda i, *_: i < 3, body, [0, x, unread])
    finally:
        tf.disable_control_flow_v2()
    assert session.run(y, {x: 1.0}) == 8.0
