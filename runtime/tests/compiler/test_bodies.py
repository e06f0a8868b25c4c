"""A node of a function gets its own device, the device of its resource, or that of the call."""

import pytest

from capstan import errors
from capstan.core import devices, dtypes, function
from capstan.core import node as ir
from capstan.graph import inline
from capstan.kernels import registry
from capstan.placement import available, bodies, place

PS, W0, W1 = (
    f"/job:{task}/device:CPU:0"
    for task in ("ps/replica:0/task:0", "worker/replica:0/task:0", "worker/replica:0/task:1")
)
SECOND = "/job:worker/replica:0/task:1/device:CPU:1"
FLOAT = {"T": dtypes.float32}
X = function.Argument("x", dtypes.float32)


def placed(
    nodes: list[ir.Node], functions: list[function.Function], root: str
) -> dict[str, ir.Node]:
    kernels = dict.fromkeys([PS, W0, W1, SECOND], registry.listed())
    placer = place.Placer(available.Available(kernels))
    return inline.inline(
        {node.name: node for node in nodes},
        {each.name: each for each in functions},
        [root],
        lambda graph, callers: bodies.place_bodies(graph, callers, placer),
    )


def neg(name: str, source: str, device: str = "", **attrs: object) -> ir.Node:
    return ir.Node(name, "Neg", (ir.Edge(source),), (), device, {**FLOAT, **attrs})


def call(name: str, called: str, *sources: str, device: str = W1, **kinds: object) -> ir.Node:
    attrs = {
        "Tin": [dtypes.float32] * len(sources),
        "Tout": [dtypes.float32],
        "f": function.Reference(called),
        **kinds,
    }
    return ir.Node(name, "PartitionedCall", tuple(map(ir.Edge, sources)), (), device, attrs)


def body(name: str, *nodes: ir.Node, result: str = "y") -> function.Function:
    return function.Function(name, (X,), (ir.Edge(result),), {node.name: node for node in nodes})


SOURCE = ir.Node("a", "Placeholder", device=W0, attrs={"dtype": dtypes.float32})


@pytest.mark.parametrize(
    ("asked", "device"),
    [
        ("", SECOND),
        ("/device:CPU:0", W1),
        ("/job:ps", PS),
        ("/task:0", W0),
        ("/job:worker/replica:0/task:0/device:CPU:0", W0),
    ],
)
def test_the_device_of_the_call_completes_the_device_of_a_node(asked: str, device: str) -> None:
    found = placed(
        [SOURCE, call("c", "f", "a", device=SECOND)], [body("f", neg("y", "x", asked))], "c"
    )
    assert (found["c/y"].device, found["c"].device) == (device, SECOND)


def test_the_body_of_an_inner_call_is_within_the_device_of_that_call() -> None:
    inner = body("inner", neg("y", "x"))
    outer = body("outer", call("y", "inner", "x", device="/job:ps"))
    found = placed([SOURCE, call("c", "outer", "a")], [inner, outer], "c")
    assert found["c/y/y"].device == PS


def test_a_node_goes_to_the_resource_that_it_reads() -> None:
    handle = ir.Node("v", "VarHandleOp", device=PS, attrs={"dtype": dtypes.float32, "shape": ()})
    read = ir.Node("y", "ReadVariableOp", (ir.Edge("x"),), (), "", {"dtype": dtypes.float32})
    called = function.Function(
        "f", (function.Argument("x", dtypes.resource),), (ir.Edge("y"),), {"y": read}
    )
    found = placed([handle, call("c", "f", "v", Tin=[dtypes.resource])], [called], "c")
    assert (found["c/y"].device, found["c"].device) == (PS, W1)


def test_colocation_within_a_body_follows_the_nodes_of_that_body() -> None:
    called = body("f", neg("z", "x", "/job:ps"), neg("y", "z", _class=[b"loc:@z"]))
    found = placed([SOURCE, call("c", "f", "a")], [called], "c")
    assert {node.device for name, node in found.items() if "/" in name} == {PS}


def test_a_device_that_does_not_exist_is_refused() -> None:
    called = body("f", neg("y", "x", "/job:ps/task:7"))
    with pytest.raises(errors.InvalidArgumentError, match="Cannot assign a device for operation"):
        placed([SOURCE, call("c", "f", "a")], [called], "c")


def test_another_job_has_tasks_of_its_own() -> None:
    assert devices.within("/job:ps", SECOND) == "/job:ps/replica:0/device:CPU:*"
