"""The result of partitioning: one `Part` per task, and the messages between them.

There are no send and receive nodes. A node keeps the inputs that the client gave it. If a producer
is in another part, its edge is in exactly one incoming message. If the tensor is fed, its edge is
in the feeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from capstan.core import dtypes, shapes
from capstan.core import node as ir


@dataclass(frozen=True, slots=True)
class Message:
    """All tensors that `source` sends to `destination` at one leg of a step, in one frame.

    `number` is unique in the step. `edges` are the tensors, in the order of the frame's values. A
    message without edges carries a control dependency. `conditional` are the tensors and control
    edges (index -1) that depend on a branch. If there are any, one more value follows the tensors:
    a bool vector that says which of `conditional` are alive.
    """

    number: int
    source: str
    destination: str
    leg: int
    edges: tuple[ir.Edge, ...] = ()
    conditional: tuple[ir.Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """The nodes that one task runs in a step, and the messages that it receives and sends.

    `nodes` are in topological order. `legs` gives for each node the number of task crossings before
    it. The nodes of one leg form a segment, which runs when the messages of that leg have arrived.
    `feeds` arrive with the start of the step and `fetches` leave at its end. `tensor_shapes` and
    `tensor_dtypes` are the static facts about every tensor that the part touches.
    """

    task: str
    nodes: tuple[ir.Node, ...]
    legs: Mapping[str, int]
    incoming: tuple[Message, ...] = ()
    outgoing: tuple[Message, ...] = ()
    feeds: tuple[ir.Edge, ...] = ()
    fetches: tuple[ir.Edge, ...] = ()
    tensor_shapes: Mapping[ir.Edge, shapes.Shape] = field(default_factory=dict)
    tensor_dtypes: Mapping[ir.Edge, dtypes.DType] = field(default_factory=dict)
