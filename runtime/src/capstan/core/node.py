"""The intermediate representation (IR) of a graph: immutable nodes.

All layers use the IR, from the graph of the client to the compiler of the worker.

A graph maps names to nodes, in insertion order. A pass takes a graph and returns a new graph. Nodes
never change. Attributes hold Python values: `DType`, `TensorShape`, `int`, `float`, `bool`,
`bytes`, `numpy.ndarray`, or lists of these. `core.graph_def` converts them to and from TensorFlow's
protocol buffers, including attributes whose names start with an underscore.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NewType

TensorName = NewType("TensorName", str)
"""The name of a tensor, `node:index`. The index is always present."""


class Edge(NamedTuple):
    """Output `index` of the node called `node`.

    It is a tuple because the compiler keeps facts by edge, and tuples are hashed fast.
    """

    node: str
    index: int = 0  # type: ignore[assignment]  # it hides the method `index` of tuples

    @property
    def tensor(self) -> TensorName:
        return TensorName(f"{self.node}:{self.index}")


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    `inputs` are data edges in the order of the op's arguments. `control` names the nodes that must
    run before this one. `device` is a device name, which may be partial or empty.
    """

    name: str
    op: str
    inputs: tuple[Edge, ...] = ()
    control: tuple[str, ...] = ()
    device: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)


Nodes = Mapping[str, Node]
"""A graph: nodes by name."""


def parse_tensor(name: str) -> Edge:
    """Read `node`, `node:1` or `^node`. The latter is a control edge, which gets index -1.

    >>> parse_tensor("w/read"), parse_tensor("w:1"), parse_tensor("^init")
    (Edge(node='w/read', index=0), Edge(node='w', index=1), Edge(node='init', index=-1))
    """
    if name.startswith("^"):
        return Edge(name[1:], -1)
    node, colon, index = name.rpartition(":")
    return Edge(node, int(index)) if colon else Edge(name, 0)
