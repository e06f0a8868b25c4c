"""The input of a hostile client, from a seeded generator: bytes, requests, graphs and data frames.

Most of it is nearly valid, because a valid request with some changed bytes passes more checks than
random bytes.
"""

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import capstan.framework.ops  # noqa: F401 - fills the table of ops
from capstan.core import dtypes, graph_def, tensor_proto, tensor_shape
from capstan.core.node import Edge, Node
from capstan.framework import opdef
from capstan.transport import frames
from capstan.transport.grpc import wire

MASTER = (
    "CreateSession",
    "ExtendSession",
    "RunStep",
    "PartialRunSetup",
    "MakeCallable",
    "RunCallable",
    "ReleaseCallable",
    "CloseSession",
    "ListDevices",
)
WORKER = ("GetStatus", "RegisterGraph", "DeregisterGraph", "Connect")


def noise(rng: random.Random, limit: int = 300) -> bytes:
    """Return random bytes, fewer than `limit`."""
    return rng.randbytes(rng.randrange(limit))


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Return `data` with some bytes changed, dropped, repeated or cut off."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0 if out:
                out[at % len(out)] = rng.randrange(256)
            case 1 if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
            case 2:
                del out[at : at + rng.randint(1, 8)]
            case 3:
                out[at:at] = out[at : at + rng.randint(1, 16)]
            case _:
                del out[at:]
    return bytes(out)


def model() -> list[Node]:
    """Return a small program: a variable on the ps, an update of it, a sum and a string."""
    f32 = {"T": dtypes.float32}
    ps, worker = "/job:ps/task:0", "/job:worker/task:0"
    return [
        Node("x", "Placeholder", attrs={"dtype": dtypes.float32}, device=worker),
        Node("one", "Const", attrs={"dtype": dtypes.float32, "value": np.float32([1, 2])}),
        Node(
            "v",
            "VariableV2",
            device=ps,
            attrs={
                "dtype": dtypes.float32,
                "shape": _shape(2),
                "container": b"",
                "shared_name": b"",
            },
        ),
        Node("set", "Assign", (Edge("v"), Edge("one")), device=ps, attrs=f32),
        Node("read", "Identity", (Edge("v"),), ("set",), device=ps, attrs=f32),
        Node("sum", "Add", (Edge("read"), Edge("x")), device=worker, attrs=f32),
        Node("axis", "Const", attrs={"dtype": dtypes.int32, "value": np.int32(0)}),
        Node(
            "total",
            "Sum",
            (Edge("sum"), Edge("axis")),
            device=ps,
            attrs={**f32, "Tidx": dtypes.int32, "keep_dims": False},
        ),
        Node("word", "Const", attrs={"dtype": dtypes.string, "value": np.array(b"w", object)}),
        Node("done", "NoOp", control=("total", "word")),
    ]


def _shape(*sizes: int) -> Any:
    return tensor_shape.TensorShape(sizes)


def request(rng: random.Random, name: str, session: str) -> Any:
    """Return a valid request of a method, for a session whose graph is `model()`."""
    message = getattr(wire, f"{name}Request")()
    for field in ("session_handle", "session"):
        if field in message.DESCRIPTOR.fields_by_name:
            setattr(message, field, session)
    if fill := _FILLED.get(name):
        fill(message, rng)
    return message


def _create(message: Any, rng: random.Random) -> None:
    message.graph_def.CopyFrom(graph_def.encode(model()))


def _extend(message: Any, rng: random.Random) -> None:
    more = [Node(f"n{rng.random()}", "NoOp", control=("done",))]
    message.graph_def.CopyFrom(graph_def.encode(more))


def _run(message: Any, rng: random.Random) -> None:
    message.feed.add(name="x:0").tensor.CopyFrom(tensor_proto.make(feed(rng)))
    message.fetch.append(rng.choice(("total:0", "word:0", "sum:0", "v:0", "gone:0")))
    message.target.append(rng.choice(("done", "set", "gone")))
    message.store_errors_in_response_body = rng.random() < 0.5
    message.partial_run_handle = rng.choice(("", "", "1", "nobody"))


def _set_up(message: Any, rng: random.Random) -> None:
    message.feed.append("x:0")
    message.fetch.append("total:0")


def _make(message: Any, rng: random.Random) -> None:
    _set_up(message.options, rng)


def _call(message: Any, rng: random.Random) -> None:
    message.handle = rng.choice((0, 1, 2, 2**62))
    message.feed.add().CopyFrom(tensor_proto.make(feed(rng)))


def _register(message: Any, rng: random.Random) -> None:
    message.task = "/job:worker/replica:0/task:0"
    message.graph_def.CopyFrom(graph_def.encode(model()[:2]))
    message.leg.extend([0, 0])
    message.master = rng.choice(("", "nonsense", "/job:ps/replica:0/task:0"))
    message.master_incarnation = rng.randrange(2**64)
    message.fetch.append("one:0")


def _connect(message: Any, rng: random.Random) -> None:
    message.task = "/job:ps/replica:0/task:0"
    message.protocol.extend(["tcp", "grpc"])


_FILLED: dict[str, Callable[[Any, random.Random], None]] = {
    "CreateSession": _create,
    "ExtendSession": _extend,
    "RunStep": _run,
    "PartialRunSetup": _set_up,
    "MakeCallable": _make,
    "RunCallable": _call,
    "RegisterGraph": _register,
    "Connect": _connect,
}


def feed(rng: random.Random) -> Any:
    """Return a value whose type and shape may be right or wrong."""
    shape = rng.choice(((2,), (), (3,), (0,), (2, 2), (1, 2, 1)))
    kind = rng.choice((np.float32, np.float32, np.float64, np.int32, np.bool_, object))
    if kind is object:
        return np.full(shape, b"text", object)
    return np.zeros(shape, kind)


def graph(rng: random.Random) -> list[Node]:
    """Return an invalid graph: with unknown ops and attributes, cycles or missing inputs."""
    nodes = model()
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(nodes))
        nodes[at] = _spoiled(rng, nodes[at], nodes)
    return nodes


def _spoiled(rng: random.Random, node: Node, nodes: list[Node]) -> Node:
    names = [other.name for other in nodes] + ["gone"]
    match rng.randrange(7):
        case 0:
            return replace(
                node, op=rng.choice([*(row.name for row in opdef.all_rows()), "Unheard", ""])
            )
        case 1:
            edges = [Edge(rng.choice(names), rng.choice((0, 0, 1, 99))) for _ in node.inputs]
            return replace(node, inputs=tuple(edges))
        case 2:
            return replace(node, inputs=node.inputs[:-1] or (Edge(rng.choice(names)),))
        case 3:
            return replace(node, control=(rng.choice(names),))
        case 4:
            kept = list(node.attrs.items())
            if kept:
                kept.pop(rng.randrange(len(kept)))
            return replace(node, attrs=dict(kept))
        case 5:
            name = rng.choice([*node.attrs, "_mine", "unheard"])
            return replace(node, attrs={**node.attrs, name: _attribute(rng)})
        case _:
            device = rng.choice(("/job:nobody/task:0", "/device:TPU:0", "nonsense", "/job:ps"))
            return replace(node, device=device)


def _attribute(rng: random.Random) -> Any:
    return rng.choice(
        (
            7,
            -1,
            2.5,
            True,
            b"bytes",
            b"\xff\xfe",
            dtypes.float64,
            dtypes.string,
            dtypes.resource,
            _shape(3),
            _shape(0),
            np.array([[1, 2]], np.int64),
            np.array([b"s"], object),
            [1, 2],
            [b"a"],
            [],
        )
    )


def frame_bytes(rng: random.Random) -> bytes:
    """Return the bytes of a frame of the data plane, damaged or not."""
    kind = rng.choice((1, 2, 3, 4, 99))
    step, subject = rng.randrange(4), rng.choice((0, 1, 2, 3, 4, 2**32 - 1))
    body, rows = b"", 0
    if rng.random() < 0.5:
        rows = 1
        body = struct.pack("<IHHQQ", 0, rng.choice((1, 3, 7, 20, 200)), 1, 8, 2) + bytes(8)
    table = len(body) - 8 if rows else 0
    head = frames.HEADER.pack(frames.MAGIC, kind, step, subject, rows, table, 8 * rows)
    data = head + body
    return damaged(rng, data) if rng.random() < 0.5 else data
