"""Nodes that only control edges read become NoOps, unless they do more than compute."""

from collections.abc import Sequence

import numpy as np
import pytest

import capstan as tf
from capstan.core import dtypes
from capstan.core import node as ir
from capstan.graph import idle, infer

X = ir.Edge("x")


def node(op: str, name: str, *inputs: str, control: Sequence[str] = ()) -> ir.Node:
    return ir.Node(name, op, tuple(map(ir.Edge, inputs)), tuple(control), "", {"T": dtypes.float32})


def relieved(*nodes: ir.Node, keep: Sequence[str]) -> dict[str, ir.Node]:
    known = infer.Knowledge({X: infer.Fed(dtypes.float32, (2,))})
    for each in nodes:
        known.learn(each)
    graph = {each.name: each for each in nodes}
    return idle.relieve(graph, frozenset([X]), frozenset(keep), known)


def test_a_node_that_nobody_reads_waits_for_its_producers() -> None:
    found = relieved(
        node("Tanh", "read", "x"),
        node("Neg", "a", "read", control=["read"]),
        node("Neg", "b", "a"),
        node("Exp", "c", "read", control=["b"]),
        keep=["c"],
    )
    assert [each.op for each in found.values()] == ["Tanh", "NoOp", "NoOp", "Exp"]
    assert found["a"].control == ("read",)
    assert found["b"].control == ("a",)
    assert found["c"].inputs == (ir.Edge("read"),)


def test_a_node_waits_for_what_its_constants_wait_for() -> None:
    attrs = {"dtype": dtypes.float32, "value": np.float32(1)}
    found = relieved(
        node("Tanh", "first", "x"),
        ir.Node("one", "Const", (), ("first",), "", attrs),
        node("Add", "a", "x", "one"),
        node("Exp", "c", "x", control=["a"]),
        keep=["c"],
    )
    assert found["a"].op == "NoOp"
    assert found["a"].control == ("first",)
    assert found["first"].op == "NoOp"


@pytest.mark.parametrize(
    ("idle_node", "keep"),
    [
        pytest.param(node("Neg", "a", "x"), ["a", "c"], id="a target"),
        pytest.param(
            ir.Node("a", "CheckNumerics", (X,), (), "", {"T": dtypes.float32, "message": b""}),
            ["c"],
            id="a check",
        ),
    ],
)
def test_a_node_with_another_purpose_stays(idle_node: ir.Node, keep: Sequence[str]) -> None:
    nodes = [idle_node, node("Exp", "c", "x", control=["a"])]
    assert relieved(*nodes, keep=keep)["a"] == idle_node


def test_the_gradient_of_the_data_is_not_computed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 3])
        weights = tf.get_variable("weights", [3, 2], use_resource=True)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.reduce_sum(tf.square(tf.matmul(x, weights)))
        )
        session.run(weights.initializer)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(train, {x: [[1.0, 2.0, 3.0]] * 4}, options, metadata)
        ran = {
            each.node_name: each.timeline_label
            for device in metadata.step_stats.dev_stats
            for each in device.node_stats
        }
    products = [name for name, label in ran.items() if "MatMul(" in label]
    assert sorted(products) == ["MatMul", "gradients/MatMul_grad/MatMul_1"]


def test_an_idle_branch_does_not_run_the_other_branch() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        decided = tf.placeholder(tf.bool, [])
        ran = tf.Variable(0.0, use_resource=True)

        def counting() -> tf.Tensor:
            with tf.control_dependencies([tf.negative(ran.assign_add(1.0))]):
                return tf.constant(1.0)

        result = tf.cond(decided, counting, lambda: tf.constant(2.0))
        session.run(ran.initializer)
        assert [session.run(result, {decided: each}) for each in (True, False, True)] == [1, 2, 1]
        assert session.run(ran) == 2
