"""The result of partitioning: one `Part` per task, and the messages between them.

There are no send and receive nodes. A node names its inputs as the client did; where the producer
is in another part, the edge stands in the table of exactly one incoming message, or of the feeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from capstan.core import dtypes, node, shapes


@dataclass(frozen=True, slots=True)
class Message:
    """Everything that `source` owes `destination` at one leg of a step, in one frame.

    `number` is unique in the step. `edges` are the tensors, in the order of the frame's values; a
    message without edges carries a control dependency by arriving. `conditional` names the tensors,
    and the control edges (index -1), that hang on a branch: where there are any, one more value
    follows the tensors, a vector that says of each whether it lives.
    """

    number: int
    source: str
    destination: str
    leg: int
    edges: tuple[node.Edge, ...] = ()
    conditional: tuple[node.Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What one task runs in a step.

    `nodes` are in topological order. `legs` says how many task crossings lie before each node; the
    nodes of one leg form a segment, which runs when the messages of that leg have arrived. `feeds`
    come with the start of the step and `fetches` leave with its end. `tensor_shapes` and
    `tensor_dtypes` are what is known statically of every tensor that the part touches.
    """

    task: str
    nodes: tuple[node.Node, ...]
    legs: Mapping[str, int]
    incoming: tuple[Message, ...] = ()
    outgoing: tuple[Message, ...] = ()
    feeds: tuple[node.Edge, ...] = ()
    fetches: tuple[node.Edge, ...] = ()
    tensor_shapes: Mapping[node.Edge, shapes.Shape] = field(default_factory=dict)
    tensor_dtypes: Mapping[node.Edge, dtypes.DType] = field(default_factory=dict)
