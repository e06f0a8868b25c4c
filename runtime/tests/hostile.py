"""What a hostile client may send: bytes, requests, graphs and frames, from a seeded generator.

Most of it is nearly right: a valid request with some bytes changed gets further than noise.
"""

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import capstan.framework.ops  # noqa: F401 - fills the table of ops
from capstan.core import dtypes, graph_def, shapes, tensor_proto
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


def noise(chance: random.Random, limit: int = 300) -> bytes:
    return chance.randbytes(chance.randrange(limit))


def damaged(chance: random.Random, data: bytes) -> bytes:
    """Change, drop, repeat or cut some of the bytes."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(5):
            case 0 if out:
                out[at % len(out)] = chance.randrange(256)
            case 1 if out:
                out[at % len(out)] ^= 1 << chance.randrange(8)
            case 2:
                del out[at : at + chance.randint(1, 8)]
            case 3:
                out[at:at] = out[at : at + chance.randint(1, 16)]
            case _:
                del out[at:]
    return bytes(out)


def model() -> list[Node]:
    """A small program: a variable on the ps, an update, strings, a branch of shapes."""
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
    return shapes.TensorShape(sizes)


def request(chance: random.Random, name: str, session: str) -> Any:
    """A valid request of a method, for a session whose graph is `model()`."""
    message = getattr(wire, f"{name}Request")()
    for field in ("session_handle", "session"):
        if field in message.DESCRIPTOR.fields_by_name:
            setattr(message, field, session)
    if fill := _FILLED.get(name):
        fill(message, chance)
    return message


def _create(message: Any, chance: random.Random) -> None:
    message.graph_def.CopyFrom(graph_def.encode(model()))


def _extend(message: Any, chance: random.Random) -> None:
    more = [Node(f"n{chance.random()}", "NoOp", control=("done",))]
    message.graph_def.CopyFrom(graph_def.encode(more))


def _run(message: Any, chance: random.Random) -> None:
    message.feed.add(name="x:0").tensor.CopyFrom(tensor_proto.make(feed(chance)))
    message.fetch.append(chance.choice(("total:0", "word:0", "sum:0", "v:0", "gone:0")))
    message.target.append(chance.choice(("done", "set", "gone")))
    message.store_errors_in_response_body = chance.random() < 0.5
    message.partial_run_handle = chance.choice(("", "", "1", "nobody"))


def _set_up(message: Any, chance: random.Random) -> None:
    message.feed.append("x:0")
    message.fetch.append("total:0")


def _make(message: Any, chance: random.Random) -> None:
    _set_up(message.options, chance)


def _call(message: Any, chance: random.Random) -> None:
    message.handle = chance.choice((0, 1, 2, 2**62))
    message.feed.add().CopyFrom(tensor_proto.make(feed(chance)))


def _register(message: Any, chance: random.Random) -> None:
    message.task = "/job:worker/replica:0/task:0"
    message.graph_def.CopyFrom(graph_def.encode(model()[:2]))
    message.leg.extend([0, 0])
    message.master = chance.choice(("", "nonsense", "/job:ps/replica:0/task:0"))
    message.master_incarnation = chance.randrange(2**64)
    message.fetch.append("one:0")


def _connect(message: Any, chance: random.Random) -> None:
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


def feed(chance: random.Random) -> Any:
    """A value of the right or a wrong type and shape."""
    shape = chance.choice(((2,), (), (3,), (0,), (2, 2), (1, 2, 1)))
    kind = chance.choice((np.float32, np.float32, np.float64, np.int32, np.bool_, object))
    if kind is object:
        return np.full(shape, b"text", object)
    return np.zeros(shape, kind)


def graph(chance: random.Random) -> list[Node]:
    """A graph that is wrong somewhere: unknown ops and attributes, cycles, missing inputs."""
    nodes = model()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(nodes))
        nodes[at] = _spoiled(chance, nodes[at], nodes)
    return nodes


def _spoiled(chance: random.Random, item: Node, nodes: list[Node]) -> Node:
    names = [other.name for other in nodes] + ["gone"]
    match chance.randrange(7):
        case 0:
            return replace(
                item, op=chance.choice([*(row.name for row in opdef.all_rows()), "Unheard", ""])
            )
        case 1:
            edges = [Edge(chance.choice(names), chance.choice((0, 0, 1, 99))) for _ in item.inputs]
            return replace(item, inputs=tuple(edges))
        case 2:
            return replace(item, inputs=item.inputs[:-1] or (Edge(chance.choice(names)),))
        case 3:
            return replace(item, control=(chance.choice(names),))
        case 4:
            kept = list(item.attrs.items())
            if kept:
                kept.pop(chance.randrange(len(kept)))
            return replace(item, attrs=dict(kept))
        case 5:
            name = chance.choice([*item.attrs, "_mine", "unheard"])
            return replace(item, attrs={**item.attrs, name: _attribute(chance)})
        case _:
            device = chance.choice(("/job:nobody/task:0", "/device:TPU:0", "nonsense", "/job:ps"))
            return replace(item, device=device)


def _attribute(chance: random.Random) -> Any:
    return chance.choice(
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


def frame_bytes(chance: random.Random) -> bytes:
    """A frame, or what looks like one."""
    kind = chance.choice((1, 2, 3, 4, 99))
    step, subject = chance.randrange(4), chance.choice((0, 1, 2, 3, 4, 2**32 - 1))
    body, rows = b"", 0
    if chance.random() < 0.5:
        rows = 1
        body = struct.pack("<IHHQQ", 0, chance.choice((1, 3, 7, 20, 200)), 1, 8, 2) + bytes(8)
    table = len(body) - 8 if rows else 0
    head = frames.HEADER.pack(frames.MAGIC, kind, step, subject, rows, table, 8 * rows)
    data = head + body
    return damaged(chance, data) if chance.random() < 0.5 else data
