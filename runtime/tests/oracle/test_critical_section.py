"""Executions under the lock of a critical section, and misuses of it, are as in TensorFlow."""

from typing import Any

import genuine
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


def nested(v1: Any) -> Any:
    section = v1.CriticalSection()
    return section.execute(lambda: section.execute(lambda: v1.constant(1)))


def of_two_sections(v1: Any) -> Any:
    v = v1.get_variable("v", initializer=0, use_resource=True)
    for _ in range(2):
        v1.CriticalSection().execute(lambda: v.read_value())


def named_twice(v1: Any) -> Any:
    return v1.CriticalSection("a", shared_name="a", critical_section_def=object())


@pytest.mark.parametrize("misuse", [nested, of_two_sections, named_twice])
def test_a_misuse_raises_the_same_error(v1: Any, misuse: Any) -> None:
    raised = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), pytest.raises(Exception) as caught:
            misuse(tf)
        raised.append(caught.type)
    assert raised[0] is raised[1]
