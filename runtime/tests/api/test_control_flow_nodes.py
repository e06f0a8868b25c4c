"""Conditionals and loops that a program builds of their operations."""

from collections.abc import Iterator
from typing import Any

import pytest

import capstan as tf
from capstan.python.ops import control_flow_ops


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def composites() -> list[Any]:
    values, places = tf.constant([1.0, 2.0]), tf.constant([0, 3])
    indices, shape = tf.constant([[0], [3]], tf.int64), tf.constant([4], tf.int64)
    return [
        tf.IndexedSlices(values, places),
        tf.IndexedSlices(values, places, tf.constant([4])),
        tf.SparseTensor(indices, values, shape),
    ]


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("pred", [True, False])
def test_composite_values_go_through_switches_and_merges(
    session: tf.Session, kind: int, pred: bool
) -> None:
    data = composites()[kind]
    off, on = control_flow_ops.switch(data, tf.constant(pred))
    merged, index = both = control_flow_ops.merge([off, on])
    assert both.output is merged
    assert both.value_index is index
    assert type(merged) is type(data)
    found, expected, place = session.run([merged, data, index])
    for part, expected_part in zip(found, expected, strict=True):
        assert part is expected_part is None or part.tolist() == expected_part.tolist()
    assert place == pred


def test_values_of_different_kinds_are_not_merged(session: tf.Session) -> None:
    slices, _, sparse = composites()
    with pytest.raises(TypeError, match="same nested structure"):
        control_flow_ops.merge([slices, sparse])
    with pytest.raises(ValueError, match="is None"):
        control_flow_ops.merge([slices, None])


def test_a_loop_of_single_operations_counts(session: tf.Session) -> None:
    start = control_flow_ops.enter(tf.constant(0), "counting", False)
    limit, one = (control_flow_ops.enter(tf.constant(n), "counting", True) for n in (10, 1))
    count, _ = control_flow_ops.merge([start, start])
    goes_on = control_flow_ops.loop_cond(tf.less(count, limit))
    off, on = control_flow_ops.switch(count, goes_on)
    count.op._update_input(1, control_flow_ops.next_iteration(tf.add(on, one)))
    assert session.run(control_flow_ops.exit(off)) == 10


def test_references_stay_references(session: tf.Session) -> None:
    variable = tf.Variable(7)
    session.run(variable.initializer)
    _, on = control_flow_ops._SwitchRefOrTensor(variable._ref(), tf.constant(True))
    entered = control_flow_ops._Enter(variable, "frame", is_constant=True)
    copied = control_flow_ops._Identity(variable)
    assert [each.dtype for each in (on, entered, copied)] == [tf.int32.ref_dtype] * 3
    assert session.run(tf.assign(on, 8)) == 8
    nine = control_flow_ops.enter(tf.constant(9), "frame")
    assigned = control_flow_ops.with_dependencies([tf.assign(entered, nine)], entered)
    assert session.run(control_flow_ops.exit(assigned)) == 9
    assert session.run(variable) == 9


def test_the_values_of_slices_wait_for_the_dependencies(session: tf.Session) -> None:
    variable = tf.Variable([[1.0], [2.0]])
    slices = tf.IndexedSlices(variable, tf.constant([1]))
    waiting = control_flow_ops.with_dependencies([variable.initializer], slices)
    assert session.run(tf.gather(waiting.values, waiting.indices)).tolist() == [[2.0]]
