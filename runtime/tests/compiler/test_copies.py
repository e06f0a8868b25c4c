"""A tensor is copied to each memory that reads it, by the shortest way, or reduced where it is."""

from collections.abc import Sequence

import pytest

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.graph import infer
from capstan.partition import copies

WORKER, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"
CPU, GPU, OTHER, THIRD = (
    f"{WORKER}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1", "GPU:2")
)
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


def test_a_cast_to_integers_of_the_host_reads_its_operand_there() -> None:
    attrs = {"SrcT": dtypes.float32, "DstT": dtypes.int32}
    cast = ir.Node("b", "Cast", (ir.Edge("a"),), (), GPU, attrs)
    found = copied(node("Tanh", "a", "x", on=GPU), cast, fetches=["b"])
    assert found == [FED, ("_CopyToHost", "a", GPU)]


def summed(*inputs: str, op: str = "AddN", on: str = GPU) -> ir.Node:
    attrs = {"T": dtypes.float32, "N": len(inputs)}
    if op == "NcclReduce":
        attrs = {"T": dtypes.float32, "num_devices": len(inputs), "reduction": b"max"}
    return ir.Node("total", op, tuple(map(ir.Edge, inputs)), (), on, attrs)


def reduced(total: ir.Node) -> list[tuple[str, str, str]]:
    """Return the nodes that read the tensors a, b, c and d of two GPUs and of the CPU."""
    homes = {"a": GPU, "b": OTHER, "c": OTHER, "d": CPU}
    nodes = [node("Tanh", name, "x", on=home) for name, home in homes.items()]
    known = infer.Knowledge({X: infer.Fed(dtypes.float32, (2,))})
    for each in (*nodes, total):
        known.learn(each)
    graph = {each.name: each for each in (*nodes, total)}
    made, _ = copies.insert(graph, [], known, frozenset([X]))
    return [
        (each.op, " ".join(edge.node for edge in each.inputs), each.device)
        for each in made.values()
        if each.name not in homes and each.inputs[0] != X
    ]


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        pytest.param(summed("a", "b"), [("_ReduceAcross", "a b", GPU)], id="one tensor each"),
        pytest.param(
            summed("c", "a", "b"),
            [("AddN", "c b", OTHER), ("_ReduceAcross", "total/sum_0 a", GPU)],
            id="two of a device are added first",
        ),
        pytest.param(
            summed("d", "a", "b"),
            [
                ("_CopyToDevice", "d", GPU),
                ("AddN", "d/copy_0 a", GPU),
                ("_ReduceAcross", "total/sum_0 b", GPU),
            ],
            id="a tensor of the host is copied",
        ),
        pytest.param(summed("a", "a"), [("AddN", "a a", GPU)], id="one device"),
        pytest.param(
            summed("a", "b", on=CPU),
            [
                ("_CopyToHost", "a", GPU),
                ("_CopyToHost", "b", OTHER),
                ("AddN", "a/copy_0 b/copy_0", CPU),
            ],
            id="on the host",
        ),
        pytest.param(
            summed("a", "b", "c", op="NcclReduce"),
            [("_ReduceAcross", "a b c", GPU)],
            id="a maximum",
        ),
    ],
)
def test_tensors_of_several_devices_are_reduced_where_they_are(
    total: ir.Node, expected: list[tuple[str, str, str]]
) -> None:
    assert reduced(total) == expected


def test_a_broadcast_is_copied_once_to_all_devices_that_read_it() -> None:
    spread = node("NcclBroadcast", "spread", "x", on=GPU)
    homes = (GPU, OTHER, CPU, THIRD, OTHER)
    readers = [node("Neg", f"r{index}", "spread", on=home) for index, home in enumerate(homes)]
    assert copied(spread, *readers) == [
        FED,
        ("_BroadcastAcross", "spread", GPU),
        ("_CopyToHost", "spread", GPU),
    ]
    assert copied(spread, *readers[:3])[1:] == [
        ("_CopyAcross", "spread", OTHER),
        ("_CopyToHost", "spread", GPU),
    ]
