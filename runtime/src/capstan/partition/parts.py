"""The result of partitioning: one `Part` per task, and the messages between them.

There are no send and receive nodes. A node keeps the inputs that the client gave it. If the
producer of an input is in another part, exactly one incoming message has the input. If an input is
fed, it is one of the feeds of the part.

The *leg* of a node is the number of task crossings on the longest path to the node (`partition`).

Some nodes wait, for example a dequeue. Such a node *answers* when it returns its outputs. The *wait
set* of a node holds the waiting nodes, on any task, that must answer before the node can run. Nodes
with different wait sets never delay each other. Each wait set of a step has a number. Set 0 is
empty. Nodes on different devices of a task have different numbers too, although they wait for the
same nodes (`lanes`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from capstan.core import dtypes, function, shapes
from capstan.core import node as ir
from capstan.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Message:
    """All tensors of one leg and one wait set that the task `source` sends to `destination`.

    A message is one frame of the data plane. `number` is unique in the step. `edges` are the
    tensors, in the order of the values in the frame. `leg` is the lowest leg of a node that can
    read them. A message without edges carries a control dependency.

    `conditional` are the tensors and control edges (index -1) that depend on a branch. If there are
    any, one more value follows the tensors: a bool vector that says which of `conditional` are
    alive. `wait_set` is the number of the wait set of the tensors. `controls` names the nodes whose
    end the message reports. Nodes of `destination` have control dependencies on them.
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

    `nodes` are in topological order. `legs` gives the leg of each node. `wait_sets` gives the
    number of the wait set of each node, if the number is not 0. The nodes of one leg and one wait
    set form a segment. `answers` gives, for each node that waits, the number of the wait set of its
    outputs. This wait set has the node itself and all nodes of the node's own wait set.

    `feeds` arrive with the start of the step and `fetches` leave at its end. `tensor_shapes` and
    `tensor_dtypes` are the static facts about every tensor that the part touches. `functions` are
    the functions that the nodes call.
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
    """Return whether the part records and returns the times of its nodes."""
    return trace_edge(part.task) in part.fetches


def traced(cut: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts of a step, by task, such that each returns the times of its nodes."""
    return {
        task: replace(part, fetches=(*part.fetches, trace_edge(task))) for task, part in cut.items()
    }


def reports(fetched: Mapping[ir.Edge, Array]) -> list[Array]:
    """Return the reports of the traced parts among the fetches of a step."""
    return [
        value
        for edge, value in fetched.items()
        if edge.node.startswith(_TRACE) and ":" in edge.node
    ]
