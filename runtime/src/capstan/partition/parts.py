"""The result of partitioning: one `Part` per task, and the messages between them.

There are no send and receive nodes. A node keeps the inputs that the client gave it. If a producer
is in another part, its edge is in exactly one incoming message. If the tensor is fed, its edge is
in the feeds.

Some nodes wait, for example a dequeue. The *wait set* of a node holds the waiting nodes, on any
task, that must answer before the node can run. Nodes with different wait sets never delay each
other. Each wait set of a step has a number. Set 0 is empty. Nodes on different
devices of a task have different numbers too, although they wait for the same nodes (`lanes`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from capstan.core import dtypes, function, shapes
from capstan.core import node as ir
from capstan.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Message:
    """All tensors of one leg and one wait set that `source` sends to `destination`, in one frame.

    `number` is unique in the step. `edges` are the tensors, in the order of the frame's values. A
    message without edges carries a control dependency. `conditional` are the tensors and control
    edges (index -1) that depend on a branch. If there are any, one more value follows the tensors:
    a bool vector that says which of `conditional` are alive. `wait_set` is the number of the wait
    set of the tensors. `controls` names the nodes whose end the message reports to a node that has
    a control dependency on them.
    """

    number: int
    source: str
    destination: str
    leg: int
    edges: tuple[ir.Edge, ...] = ()
    conditional: tuple[ir.Edge, ...] = ()
    wait_set: int = 0
    controls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """The nodes that one task runs in a step, and the messages that it receives and sends.

    `nodes` are in topological order. `legs` gives for each node the number of task crossings before
    it. `wait_sets` gives the number of the wait set of each node for which it is not 0. The nodes
    of one leg and one wait set form a segment. `answers` names the nodes that wait, and gives for
    each the number of the wait set of its outputs: the node's own wait set and the node.

    `feeds` arrive with the start of the step and `fetches` leave at its end. `tensor_shapes` and
    `tensor_dtypes` are the static facts about every tensor that the part touches. `functions` are
    those that the nodes call.
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
    wait_sets: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, int] = field(default_factory=dict)
    functions: function.Library = field(default_factory=dict)


_TRACE = "_trace"


def trace_edge(task: str) -> ir.Edge:
    """Return the fetch in which a traced part of `task` returns the times of its nodes.

    Its value is one string, a serialised StepStats. No node has its name, which holds a colon.
    """
    return ir.Edge(_TRACE + task)


def is_traced(part: Part) -> bool:
    """Return whether the part notes and returns the times of its nodes."""
    return trace_edge(part.task) in part.fetches


def traced(cut: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts of a step, by task, such that each returns the times of its nodes."""
    return {
        task: replace(part, fetches=(*part.fetches, trace_edge(task))) for task, part in cut.items()
    }


def reports(fetched: Mapping[ir.Edge, Array]) -> list[Array]:
    """Return the values of the fetches of a step in which traced parts returned their times."""
    return [
        value
        for edge, value in fetched.items()
        if edge.node.startswith(_TRACE) and ":" in edge.node
    ]
