"""Topological order and pruning: the nodes that a step needs, producers first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import node as ir
from capstan.graph import order, prune

Edge = ir.Edge


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, ir.Node]:
    """Draw an acyclic graph whose insertion order is independent of its edges."""
    count = draw(st.integers(1, 12))
    names = [f"n{index}" for index in range(count)]
    nodes = []
    for index, name in enumerate(names):
        earlier = st.sampled_from(names[:index]) if index else st.nothing()
        data = draw(st.lists(earlier, max_size=3)) if index else []
        control = draw(st.lists(earlier, max_size=2, unique=True)) if index else []
        nodes.append(ir.Node(name, "X", tuple(map(Edge, data)), tuple(control)))
    return {node.name: node for node in draw(st.permutations(nodes))}


@pytest.mark.e2e
@given(graphs(), st.data())
def test_the_order_has_producers_first_and_only_needed_nodes(
    nodes: dict[str, ir.Node], data: st.DataObject
) -> None:
    roots = data.draw(st.lists(st.sampled_from(sorted(nodes)), min_size=1, unique=True))
    kept = order.topological(nodes, roots)
    position = {name: index for index, name in enumerate(kept)}
    for name, node in kept.items():
        assert all(position[source] < position[name] for source in order.producers(node))
    needed = set(roots)
    for name in reversed(kept):
        if name in needed:
            needed.update(order.producers(kept[name]))
    assert set(kept) == needed


@pytest.mark.e2e
@given(graphs(), st.data())
def test_a_fed_tensor_needs_no_producer(nodes: dict[str, ir.Node], data: st.DataObject) -> None:
    fetch = data.draw(st.sampled_from(sorted(nodes)))
    fed = data.draw(st.lists(st.sampled_from(sorted(nodes)), unique=True))
    kept = prune.prune(nodes, [Edge(name) for name in fed], [Edge(fetch)], [])
    if fetch in fed:
        assert kept == {}
    for name, node in kept.items():
        assert node == nodes[name]
        for edge in node.inputs:
            assert edge.node in kept or edge.node in fed


@given(graphs(), st.data())
def test_nodes_are_unordered_if_neither_needs_the_other(
    nodes: dict[str, ir.Node], data: st.DataObject
) -> None:
    nodes = order.topological(nodes, sorted(nodes))
    names = data.draw(st.lists(st.sampled_from(sorted(nodes)), unique=True))
    ancestors: dict[str, set[str]] = {}
    for name, node in nodes.items():
        sources = list(order.producers(node))
        ancestors[name] = {name, *sources}.union(*(ancestors[source] for source in sources))
    assert order.unordered(nodes, names) == {
        one
        for one in names
        for other in names
        if one not in ancestors[other] and other not in ancestors[one]
    }


def test_the_error_for_a_cycle_names_one_of_its_nodes() -> None:
    nodes = {
        "a": ir.Node("a", "X", (Edge("b"),)),
        "b": ir.Node("b", "X", (), ("a",)),
        "free": ir.Node("free", "X"),
    }
    with pytest.raises(errors.InvalidArgumentError, match=r"\{\{node [ab]\}\} depends on itself"):
        order.topological(nodes, ["a"])
    assert list(order.topological(nodes, ["free"])) == ["free"]


@pytest.mark.e2e
def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    nodes = {"n0": ir.Node("n0", "X")}
    for index in range(1, 20_000):
        nodes[f"n{index}"] = ir.Node(f"n{index}", "X", (Edge(f"n{index - 1}"),))
    assert len(order.topological(nodes, ["n19999"])) == 20_000


@pytest.mark.parametrize(
    ("feeds", "fetches", "targets", "words"),
    [
        ([Edge("nope")], [], [], "unable to find feed output nope"),
        ([], [Edge("nope")], [], "FetchOutputs node nope: not found"),
        ([], [], ["nope"], "Some target nodes not found: nope"),
    ],
)
def test_a_name_that_is_not_in_the_graph_is_an_error(
    feeds: list[Edge], fetches: list[Edge], targets: list[str], words: str
) -> None:
    with pytest.raises(errors.NotFoundError, match=words):
        prune.prune({"a": ir.Node("a", "X")}, feeds, fetches, targets)


def test_only_control_dependencies_on_fed_placeholders_are_removed() -> None:
    nodes = {
        "x": ir.Node("x", "Placeholder"),
        "other": ir.Node("other", "X"),
        "y": ir.Node("y", "X", (Edge("x"), Edge("other")), ("x", "other")),
    }
    kept = prune.prune(nodes, [Edge("x"), Edge("other")], [Edge("y")], [])
    assert set(kept) == {"other", "y"}
    assert kept["y"].control == ("other",)


def test_pruning_reads_only_the_nodes_that_a_step_needs() -> None:
    read: list[str] = []

    class Graph(dict[str, ir.Node]):
        def __getitem__(self, name: str) -> ir.Node:
            read.append(name)
            return super().__getitem__(name)

        def items(self) -> Any:
            raise AssertionError("the pass visits the whole graph")

        values = __iter__ = items

    chain = [ir.Node("x", "Placeholder"), ir.Node("y", "X", (Edge("x"),), ("x",))]
    others = [ir.Node(f"n{number}", "X", (Edge("y"),)) for number in range(9)]
    graph = Graph({node.name: node for node in [*chain, *others]})
    assert list(prune.prune(graph, [Edge("x")], [Edge("y")], [])) == ["y"]
    assert set(read) == {"x", "y"}
