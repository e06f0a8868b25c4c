"""Executions under the lock of a critical section, and misuses of it, are as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def counted(v1: Any, session_of: Any) -> tuple[list[int], int]:
    """Count in six executions of a step, and return what each saw, and the last value."""
    v = v1.get_variable("v", initializer=0, use_resource=True)
    section = v1.CriticalSection(name="section")

    def count(step: int) -> Any:
        value = v.read_value()
        with v1.control_dependencies([value]), v1.control_dependencies([v.assign(value + step)]):
            return v1.identity(value)

    values = [section.execute(lambda step=step: count(step)) for step in (1, 1, 1, 2, 2, 2)]
    with session_of() as session:
        session.run(v.initializer)
        seen = session.run(values)
        return seen, session.run(v)


def test_each_execution_sees_what_the_one_before_it_left(v1: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default():
            seen, last = counted(tf, tf.Session)
        assert last == 9
        assert min(seen) == 0
        assert len(set(seen)) == 6


def by_calls(v1: Any, v: Any, section: Any) -> Any:
    @v1.function(autograph=False)
    def add(step: Any) -> Any:
        first = section.execute(lambda: v.assign_add(step))
        return first, section.execute(lambda: [v.assign_add(step), v.read_value()])[0]

    return [add(1), add(2)]


def by_a_function(v1: Any, v: Any, section: Any) -> Any:
    add = v1.function(lambda: v.assign_add(3), autograph=False)
    return [section.execute(add), section.execute(add)]


def by_a_loop_of_a_function(v1: Any, v: Any, section: Any) -> Any:
    def body(i: Any) -> Any:
        return section.execute(lambda: (v.assign_add(2), i + 1))[1]

    return v1.function(lambda: v1.while_loop(lambda i: i < 3, body, [0]), autograph=False)()


def by_a_branch_of_a_function(v1: Any, v: Any, section: Any) -> Any:
    @v1.function(autograph=False)
    def add(step: Any) -> Any:
        return v1.cond(step > 1, lambda: section.execute(lambda: v.assign_add(step)), lambda: 0)

    return [add(v1.constant(1)), add(v1.constant(6))]


def by_a_loop(v1: Any, v: Any, section: Any) -> Any:
    return v1.map_fn(lambda x: section.execute(lambda: v.assign_add(x)), v1.range(4))


@pytest.mark.parametrize(
    "program",
    [
        by_calls,
        by_a_function,
        by_a_loop_of_a_function,
        by_a_branch_of_a_function,
        by_a_loop,
    ],
)
def test_functions_and_loops_hold_the_lock(v1: Any, program: Any) -> None:
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=0, use_resource=True)
            fetches = tf.nest.flatten(program(tf, v, tf.CriticalSection(name="section")))
            session.run(v.initializer)
            found = session.run(fetches)
            last = session.run(v)
            results.append(([(value.dtype, value.shape) for value in found], last))
            assert max(np.ravel(value).max() for value in found) in (last, 3)
    assert results[0] == results[1]


def nested(v1: Any) -> Any:
    section = v1.CriticalSection()
    return section.execute(lambda: section.execute(lambda: v1.constant(1)))


def nested_in_a_function(v1: Any) -> Any:
    section = v1.CriticalSection()
    inner = v1.function(lambda: section.execute(lambda: v1.constant(1)), autograph=False)
    return section.execute(inner)


def nested_by_a_function(v1: Any) -> Any:
    section = v1.CriticalSection()
    return v1.function(
        lambda: section.execute(lambda: section.execute(lambda: v1.constant(1))), autograph=False
    )()


def of_two_sections(v1: Any) -> Any:
    v = v1.get_variable("v", initializer=0, use_resource=True)
    for _ in range(2):
        v1.CriticalSection().execute(lambda: v.read_value())


def named_twice(v1: Any) -> Any:
    return v1.CriticalSection("a", shared_name="a", critical_section_def=object())


@pytest.mark.parametrize(
    "misuse",
    [nested, nested_in_a_function, nested_by_a_function, of_two_sections, named_twice],
)
def test_a_misuse_raises_the_same_error(v1: Any, misuse: Any) -> None:
    raised = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), pytest.raises(Exception) as caught:
            misuse(tf)
        raised.append(caught.type)
    assert raised[0] is raised[1]
