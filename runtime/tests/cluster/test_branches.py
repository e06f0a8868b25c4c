"""A branch that is not taken does not run, on this task or another one."""

from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.core import node
from capstan.framework.raw import raw
from capstan.graph import guards

Edge = node.Edge
TASKS = ("/job:ps", "/job:worker")


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


def branch(chooses: Any, data: Any, no: str, yes: str, merge: str) -> tuple[Any, Any, Any]:
    """Build `cond(chooses, data + 10, data * 2)` with a counter in each branch, on these tasks."""
    off, on = raw.Switch(data, chooses)
    with tf.device(no):
        count_no = tf.Variable(0, name="no")
        with tf.control_dependencies([tf.identity(off)]):
            counted = tf.assign_add(count_no, 1)
        with tf.control_dependencies([counted]):
            left = tf.multiply(off, 2.0)
    with tf.device(yes):
        count_yes = tf.Variable(0, name="yes")
        with tf.control_dependencies([tf.identity(on)]):
            counted = tf.assign_add(count_yes, 1)
        with tf.control_dependencies([counted]):
            right = tf.add(on, 10.0)
    with tf.device(merge):
        merged, index = raw.Merge([left, right])
        return merged + 0.0, index, (count_no, count_yes)


@pytest.mark.e2e
@pytest.mark.parametrize("no", TASKS)
@pytest.mark.parametrize("yes", TASKS)
@pytest.mark.parametrize("merge", TASKS)
def test_only_the_taken_branch_runs_on_any_placement(
    target: str, no: str, yes: str, merge: str
) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:worker"):
            chooses = tf.placeholder(tf.bool, [])
            data = tf.placeholder(tf.float32, [2]) + 0.0
        result, index, counts = branch(chooses, data, no, yes, merge)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for step, choice in enumerate((True, False, True, True, False)):
                feed = {chooses: choice, data.op.inputs[0]: [step, 1]}
                value, side = session.run([result, index], feed)
                expected = np.array([step, 1]) + 10 if choice else np.array([step, 1]) * 2
                assert value.tolist() == expected.tolist()
                assert side == int(choice)
            assert session.run(list(counts)) == [2, 3]


def test_a_nested_branch_runs_only_if_its_outer_branch_is_taken(target: str) -> None:
    for where in ("", target):
        with tf.Graph().as_default():
            outer, inner = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
            x = tf.constant(1.0) + tf.placeholder_with_default(0.0, [])
            off, on = raw.Switch(x, outer)
            _, inner_on = raw.Switch(inner, outer)
            low, high = raw.Switch(on, inner_on)
            nested, _ = raw.Merge([low + 1.0, high + 2.0])
            result, _ = raw.Merge([off, nested * 10.0])
            with tf.Session(where) as session:
                found = [
                    float(session.run(result, {outer: takes_outer, inner: takes_inner}))
                    for takes_outer in (False, True)
                    for takes_inner in (False, True)
                ]
        assert found == [1.0, 1.0, 20.0, 30.0]


def test_the_branch_that_was_not_taken_cannot_be_fetched() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        chooses = tf.placeholder(tf.bool, [])
        off, on = raw.Switch(tf.constant(1.0), chooses)
        assert session.run(on, {chooses: True}) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(off, {chooses: True})


def test_a_reference_goes_through_a_switch(target: str) -> None:
    with tf.Graph().as_default(), tf.device("/job:ps"):
        step = tf.Variable(7, name="step")
        ready = tf.is_variable_initialized(step)
        _, held = raw.RefSwitch(step.op.outputs[0], ready)
        with tf.device("/job:worker"):
            start, _ = raw.Switch(tf.constant(-1), ready)
            value, _ = raw.Merge([start, raw.Identity(held)])
            shown = value + 0
        with tf.Session(target) as session:
            assert session.run(shown) == -1
            session.run(step.initializer)
            assert session.run(shown) == 7


def test_guards_list_their_decisions_from_the_outermost_on() -> None:
    known = guards.Guards()
    for new_node in (
        node.Node("p", "X"),
        node.Node("q", "X"),
        node.Node("outer", "Switch", (Edge("p"), Edge("p"))),
        node.Node("inner", "Switch", (Edge("outer", 1), Edge("q"))),
        node.Node("low", "X", (Edge("inner", 0),)),
        node.Node("high", "X", (Edge("inner", 1),), ("q",)),
        node.Node("joined", "Merge", (Edge("low"), Edge("high"))),
        node.Node("odd", "Merge", (Edge("low"), Edge("outer", 0))),
    ):
        known.learn(new_node)
    decision = (Edge("p"), True)
    assert known.of(Edge("low")) == (decision, (Edge("q"), False))
    assert known.of(Edge("joined")) == (decision,)
    assert known.of(Edge("odd")) == ((Edge("odd", -1), True),)
