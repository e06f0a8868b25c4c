"""Readers of a variable run before its writers, and every dependency holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dtypes, tensor_shape
from capstan.core import node as ir
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import order, schedule

Edge = ir.Edge
FLOAT = {"T": dtypes.float32}
V = ir.Node(
    "v", "VariableV2", attrs={"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([])}
)


def in_order(nodes: list[ir.Node]) -> list[ir.Node]:
    return [node for (node,) in schedule.reads_first([[node] for node in nodes])]


@st.composite
def segments(draw: st.DrawFn) -> list[ir.Node]:
    nodes = [V, ir.Node("read", "Identity", (Edge("v"),), attrs=FLOAT)]
    for index in range(draw(st.integers(0, 10))):
        values = [node.name for node in nodes if node.op in ("Identity", "Neg")]
        source = Edge(draw(st.sampled_from(values)))
        control = draw(st.lists(st.sampled_from([node.name for node in nodes]), max_size=2))
        if draw(st.booleans()):
            nodes.append(ir.Node(f"n{index}", "Neg", (source,), tuple(control), attrs=FLOAT))
        else:
            nodes.append(
                ir.Node(f"n{index}", "AssignAdd", (Edge("v"), source), tuple(control), attrs=FLOAT)
            )
    return nodes


@pytest.mark.e2e
@given(segments())
def test_a_writer_runs_after_all_readers_that_do_not_depend_on_a_writer(
    nodes: list[ir.Node],
) -> None:
    scheduled = in_order(nodes)
    position = {node.name: index for index, node in enumerate(scheduled)}
    assert sorted(position) == sorted(node.name for node in nodes)
    ancestors: dict[str, set[str]] = {}
    for node in scheduled:
        sources = list(order.producers(node))
        assert all(position[source] < position[node.name] for source in sources)
        ancestors[node.name] = set().union(*(ancestors[source] | {source} for source in sources))
    writers = [node.name for node in nodes if node.op == "AssignAdd"]
    for node in nodes:
        for writer in writers:
            if node.op == "Neg" and ancestors[node.name].isdisjoint(writers):
                assert position[node.name] < position[writer]


def test_the_gradient_of_a_lower_layer_reads_the_weights_before_they_change() -> None:
    read = ir.Node("read", "Identity", (Edge("v"),), attrs=FLOAT)
    apply = ir.Node("apply", "AssignAdd", (Edge("v"), Edge("read")), attrs=FLOAT)
    below = ir.Node("below", "Neg", (Edge("read"),), attrs=FLOAT)
    assert [node.name for node in in_order([V, read, apply, below])] == [
        *("v", "read", "below", "apply")
    ]
