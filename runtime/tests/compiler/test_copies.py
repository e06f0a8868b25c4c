"""A tensor is copied to each memory that reads it, by the shortest way."""

from collections.abc import Sequence

import pytest

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.graph import infer
from capstan.partition import copies

WORKER, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"
CPU, GPU, OTHER = (f"{WORKER}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1"))
X = ir.Edge("x")


def node(op: str, name: str, *inputs: str, on: str) -> ir.Node:
    return ir.Node(name, op, tuple(map(ir.Edge, inputs)), (), on, {"T": dtypes.float32})


def copied(*nodes: ir.Node, fetches: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return the op, the input and the device of each copy that a graph that reads `x` gets."""
    known = infer.Knowledge({X: infer.Fed(dtypes.float32, (2,))})
    for each in nodes:
        known.learn(each)
    graph = {each.name: each for each in nodes}
    made, _ = copies.insert(graph, [ir.Edge(name) for name in fetches], known, frozenset([X]))
    return [
        (each.op, each.inputs[0].node, each.device)
        for each in made.values()
        if each.name not in graph
    ]


FED = ("_CopyToDevice", "x", GPU)


@pytest.mark.parametrize(
    ("reader", "fetches", "expected"),
    [
        pytest.param(node("Neg", "b", "a", on=GPU), [], [], id="the same device"),
        pytest.param(node("Neg", "b", "a", on=CPU), [], [("_CopyToHost", "a", GPU)], id="the host"),
        pytest.param(
            node("Neg", "b", "a", on=OTHER), [], [("_CopyAcross", "a", OTHER)], id="a peer"
        ),
        pytest.param(
            node("Mul", "b", "a", "a", on=OTHER),
            ["a"],
            [("_CopyAcross", "a", OTHER), ("_CopyToHost", "a", GPU)],
            id="a peer and a fetch",
        ),
        pytest.param(
            node("Neg", "b", "a", on=f"{PS}/device:GPU:1"),
            [],
            [
                ("_CopyToHost", "a", GPU),
                ("_CopyToDevice", "a/copy_0", f"{PS}/device:GPU:1"),
            ],
            id="another task",
        ),
    ],
)
def test_a_tensor_takes_the_shortest_way(
    reader: ir.Node, fetches: Sequence[str], expected: list[tuple[str, str, str]]
) -> None:
    found = copied(node("Tanh", "a", "x", on=GPU), reader, fetches=fetches)
    assert found == [FED, *expected]
