"""The buffers of a part. A tensor may take the buffer of a tensor that is not used any more."""

import dataclasses
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
import capstan.kernels
from capstan.core import dtypes
from capstan.core import node as ir
from capstan.executor import lifetimes, program
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import infer
from capstan.partition import partition
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
X = ir.Edge("x")


def compiled(nodes: Sequence[ir.Node], fetches: Sequence[str]) -> program.Program:
    """Compile nodes that read `x`, a vector of two floats, and each other."""
    fed = {X: infer.Fed(dtypes.float32, (2,))}
    known = infer.Knowledge(fed)
    for node in nodes:
        known.learn(node)
    tasks = {node.name: HERE for node in nodes}
    edges = [ir.Edge(name) for name in fetches]
    by_name = {node.name: node for node in nodes}
    (part,) = partition.partition(by_name, tasks, [X], edges, known, HERE).values()
    return program.Program(part, containers.ResourceManager().for_session())


def make(op: str, name: str, *inputs: str) -> ir.Node:
    return ir.Node(name, op, tuple(map(ir.Edge, inputs)), attrs={"T": dtypes.float32})


def chain(op: str, length: int) -> list[ir.Node]:
    names = ["x", *(f"y{index}" for index in range(length))]
    return [make(op, names[index + 1], names[index]) for index in range(length)]


def test_a_chain_of_nodes_uses_two_buffers() -> None:
    assert len(compiled(chain("Tanh", 50), ["y49"]).code.buffers) == 2


def test_a_fetched_tensor_keeps_its_buffer() -> None:
    assert len(compiled(chain("Tanh", 6), ["y1", "y3", "y5"]).code.buffers) == 4


def test_a_view_keeps_the_buffer_of_the_tensor_that_it_shows() -> None:
    nodes = [
        make("Neg", "a", "x"),
        make("Identity", "view", "a"),
        make("Neg", "b", "x"),
        make("Add", "sum", "view", "b"),
    ]
    built = compiled(nodes, ["sum"])
    assert len(built.code.buffers) == 3
    context = built.take()
    context.feed([np.array([1, 2], np.float32)])
    built.run_segment(context, 0)
    assert built.fetch(context)[0].tolist() == [-2, -4]


def test_a_tensor_that_another_segment_or_a_queue_uses_is_never_released() -> None:
    first = [
        make("Neg", "later", "x"),
        make("Neg", "stored", "x"),
        make("Neg", "used", "x"),
        ir.Node(
            "enqueue",
            "QueueEnqueueV2",
            (ir.Edge("queue"), ir.Edge("stored")),
            attrs={"Tcomponents": [dtypes.float32]},
        ),
        make("Neg", "user", "used"),
    ]
    second = [make("Neg", "reader", "later")]
    found = lifetimes.released([first, second], [ir.Edge("reader")], lambda node: False)
    assert found["user"] == [ir.Edge("used"), ir.Edge("user")]
    assert not {ir.Edge("later"), ir.Edge("stored")} & {
        edge for ends in found.values() for edge in ends
    }


@pytest.mark.parametrize("op", ["Assign", "AssignAdd", "AssignVariableOp", "ApplyGradientDescent"])
def test_an_update_releases_the_tensor_that_it_applied(op: str) -> None:
    rate = ["rate"] if op == "ApplyGradientDescent" else []
    update = make(op, "update", "variable", *rate, "stored")
    if op == "AssignVariableOp":
        update = dataclasses.replace(update, attrs={"dtype": dtypes.float32})
    found = lifetimes.released([[make("Neg", "stored", "x"), update]], [], lambda node: False)
    assert ir.Edge("stored") in found["update"]


UNARY = {"Neg": np.negative, "Identity": np.asarray, "Abs": np.abs}
BINARY = {"Add": np.add, "Sub": np.subtract, "Maximum": np.maximum}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[ir.Node], list[str]]:
    """Draw a graph of up to 20 nodes over `x`, and the nodes to fetch."""
    nodes: list[ir.Node] = []
    for index in range(draw(st.integers(1, 20))):
        sources = st.sampled_from(["x", *(node.name for node in nodes)])
        op = draw(st.sampled_from([*UNARY, *BINARY]))
        inputs = [draw(sources) for _ in range(1 if op in UNARY else 2)]
        nodes.append(make(op, f"n{index}", *inputs))
    names = [node.name for node in nodes]
    return nodes, draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


@pytest.mark.e2e
@given(graphs())
def test_shared_buffers_do_not_change_the_values(graph: tuple[list[ir.Node], list[str]]) -> None:
    nodes, fetches = graph
    built = compiled(nodes, fetches)
    values: dict[str, Any] = {"x": np.array([1.5, -2], np.float32)}
    for node in nodes:
        function = {**UNARY, **BINARY}[node.op]
        values[node.name] = function(*(values[edge.node] for edge in node.inputs))
    for _ in range(2):
        context = built.take()
        context.feed([values["x"]])
        built.run_segment(context, 0)
        found = [np.array(value) for value in built.fetch(context)]
        built.give_back(context)
        np.testing.assert_array_equal(found, [values[name] for name in fetches])


@pytest.mark.e2e
@pytest.mark.parametrize("use_resource", [False, True])
@given(graphs(), st.data())
def test_shared_buffers_do_not_change_the_values_of_variables(
    use_resource: bool, graph: tuple[list[ir.Node], list[str]], data: st.DataObject
) -> None:
    nodes, fetches = graph
    stored = data.draw(st.lists(st.sampled_from([node.name for node in nodes]), unique=True))
    fed = np.array([1.5, -2], np.float32)
    values: dict[str, Any] = {"x": fed}
    with tf.Graph().as_default() as built, tf.Session() as session:
        tensors: dict[str, Any] = {"x": tf.placeholder(tf.float32, [2])}
        variables, updates = {}, []
        for node in nodes:
            inputs = [edge.node for edge in node.inputs]
            operation = getattr(tf.raw_ops, node.op)
            names = (
                ("x", "y") if node.op in BINARY else ("input" if node.op == "Identity" else "x",)
            )
            tensors[node.name] = operation(
                **dict(zip(names, (tensors[name] for name in inputs), strict=True))
            )
            function = {**UNARY, **BINARY}[node.op]
            values[node.name] = function(*(values[name] for name in inputs))
            if node.name in stored:
                zeros = tf.zeros_initializer()
                variable = tf.get_variable(
                    node.name, [2], initializer=zeros, use_resource=use_resource
                )
                variables[node.name] = variable
                updates.append(variable.assign(tensors[node.name]).op)
        session.run(tf.global_variables_initializer())
        built.finalize()
        for _ in range(2):
            found, _ = session.run(
                [[tensors[name] for name in fetches], updates], {tensors["x"]: fed}
            )
            np.testing.assert_array_equal(found, [values[name] for name in fetches])
            kept = session.run(variables)
            assert {name: value.tolist() for name, value in kept.items()} == {
                name: values[name].tolist() for name in stored
            }


@pytest.mark.parametrize("choice", [True, False])
def test_a_branch_does_not_overwrite_a_tensor_that_is_read_after_it(choice: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, taken = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
        before = tf.tanh(x)
        middle = tf.cond(taken, lambda: tf.tanh(tf.tanh(before)), lambda: tf.exp(tf.exp(before)))
        after = before + tf.tanh(tf.tanh(middle))
        fed = np.array([0.5, 1, 2], np.float32)
        once = np.tanh(fed)
        inner = np.tanh(np.tanh(once)) if choice else np.exp(np.exp(once))
        expected = once + np.tanh(np.tanh(inner))
        np.testing.assert_allclose(session.run(after, {x: fed, taken: choice}), expected, 1e-6)


def test_contexts_that_no_step_needs_any_more_are_given_up() -> None:
    built = compiled(chain("Tanh", 2), ["y1"])
    burst = [built.take() for _ in range(5)]
    kept = [weakref.ref(context.segments[0]) for context in burst]
    for context in burst:
        built.give_back(context)
    del burst, context
    for _ in range(1000):
        built.give_back(built.take())
    assert sum(reference() is not None for reference in kept) == 1
