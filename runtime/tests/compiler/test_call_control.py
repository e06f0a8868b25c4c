"""The nodes of a function wait for the control inputs of the call."""

import numpy as np
import pytest

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.graph import inline, order

FLOAT = {"T": dtypes.float32}
X = function.Argument("x", dtypes.float32)


def inlined(nodes: list[ir.Node], *functions: function.Function) -> dict[str, ir.Node]:
    return inline.inline(
        {node.name: node for node in nodes},
        {each.name: each for each in functions},
        [nodes[-1].name],
        lambda graph, _: dict(graph),
    )


def source(name: str) -> ir.Node:
    return ir.Node(name, "Placeholder", attrs={"dtype": dtypes.float32})


def constant(name: str) -> ir.Node:
    attrs = {"dtype": dtypes.float32, "value": np.array(2, np.float32)}
    return ir.Node(name, "Const", attrs=attrs)


def add(name: str, first: str, second: str, *control: str) -> ir.Node:
    return ir.Node(name, "Add", (ir.Edge(first), ir.Edge(second)), control, attrs=FLOAT)


def call(name: str, called: str, argument: str, *control: str) -> ir.Node:
    attrs = {
        "Tin": [dtypes.float32],
        "Tout": [dtypes.float32],
        "f": function.Reference(called),
    }
    return ir.Node(name, "PartitionedCall", (ir.Edge(argument),), control, attrs=attrs)


def body(name: str, *nodes: ir.Node) -> function.Function:
    named = {node.name: node for node in nodes}
    return function.Function(name, (X,), (ir.Edge("y"),), named, control_results=("y",))


def before(graph: dict[str, ir.Node], name: str) -> set[str]:
    """Return the nodes that run before the node called `name`."""
    return set(order.topological(graph, [name])) - {name}


BODIES = {
    "an argument": body("f", add("y", "x", "x")),
    "an argument and a constant": body("f", constant("c"), add("y", "x", "c")),
    "constants": body("f", constant("c"), add("y", "c", "c")),
    "a constant, after a constant": body("f", constant("c"), add("y", "x", "c", "c")),
    "an argument, after an argument": body("f", add("y", "x", "x", "x")),
    "the result of another node": body("f", constant("c"), add("a", "x", "c"), add("y", "a", "c")),
}


@pytest.mark.parametrize("name", BODIES)
def test_each_node_of_a_function_runs_after_the_control_inputs_of_the_call(name: str) -> None:
    nodes = [source("a"), source("first"), call("f", "f", "a", "first")]
    graph = inlined(nodes, BODIES[name])
    assert all("first" in before(graph, f"f/{node}") for node in BODIES[name].nodes if node != "c")


@pytest.mark.parametrize("name", BODIES)
def test_a_call_that_follows_another_call_runs_after_its_nodes(name: str) -> None:
    nodes = [source("a"), call("f", "f", "a"), call("g", "f", "a", "f")]
    assert "f/y" in before(inlined(nodes, BODIES[name]), "g/y")
