"""The IR: one immutable kind of node, used from the client's graph to the worker's compiler.

A graph is a mapping of names to nodes in insertion order. A pass takes one and returns a new one;
nothing changes a node. Attributes hold Python values (`DType`, `TensorShape`, `int`, `float`,
`bool`, `bytes`, `numpy.ndarray`, or lists of these); `core.graph_def` translates them to and from
TensorFlow's protocol buffers, and keeps the names that start with an underscore as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

TensorName = NewType("TensorName", str)
"""A tensor as TensorFlow spells it, `node:index`; the index is always written."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Output `index` of the node called `node`."""

    node: str
    index: int = 0

    @property
    def tensor(self) -> TensorName:
        return TensorName(f"{self.node}:{self.index}")


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: what it is called, what it computes, from what, and where.

    `inputs` are data edges in the order of the op's arguments; `control` names nodes that must have
    run before. `device` is a (possibly partial, possibly empty) device name.
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
    """Read `node`, `node:1` or `^node` (index -1, TensorFlow's spelling of a control edge).

    >>> parse_tensor("w/read"), parse_tensor("w:1"), parse_tensor("^init")
    (Edge(node='w/read', index=0), Edge(node='w', index=1), Edge(node='init', index=-1))
    """
    if name.startswith("^"):
        return Edge(name[1:], -1)
    node, colon, index = name.rpartition(":")
    return Edge(node, int(index)) if colon else Edge(name, 0)
