"""A conditional chooses between the handles of two variables, as in TensorFlow."""

from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS


def by_cond(tf: Any, is_first: Any, first: Any, second: Any) -> Any:
    return tf.cond(is_first, lambda: first.handle, lambda: tf.identity(second.handle))


def by_switch_case(tf: Any, is_first: Any, first: Any, second: Any) -> Any:
    return tf.switch_case(
        tf.cast(is_first, tf.int32), [lambda: second.handle, lambda: first.handle]
    )


def reads_and_changes(tf: Any, choose: Any) -> list[Any]:
    """Return reads before and after changes of the same variables by another handle."""
    with tf.Graph().as_default():
        first, second = (
            tf.get_variable(name, initializer=value, use_resource=True)
            for name, value in (("a", 1.0), ("b", 2.0))
        )
        is_first = tf.placeholder(tf.bool, [])
        handle = choose(tf, is_first, first, second)
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        with tf.control_dependencies([read]):
            change = first.assign_add(5.0)
        with tf.control_dependencies([change]):
            before = read * 1.0
        direct = first.read_value()
        with tf.control_dependencies([direct]):
            change = tf.raw_ops.AssignAddVariableOp(resource=handle, value=7.0)
        with tf.control_dependencies([change]):
            direct_before = direct * 1.0
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = []
            for chosen in (True, False):
                for step in (before, direct_before, read):
                    found.append(float(session.run(step, {is_first: chosen})))
                    found += map(float, session.run([first, second]))
            return found


@pytest.mark.parametrize("choose", [by_cond, by_switch_case])
def test_a_chosen_handle_is_that_of_its_variable(v1: Any, choose: Any) -> None:
    assert reads_and_changes(capstan, choose) == reads_and_changes(v1, choose)
