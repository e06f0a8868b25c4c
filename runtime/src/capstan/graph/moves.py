"""The nodes of a graph that other nodes or tensors replace (`simplify`)."""

from collections.abc import Sequence
from dataclasses import replace

from capstan.core import node as ir


class Moves:
    """The nodes that other nodes replace. Edges to fed tensors stay as they are."""

    def __init__(self, fed: frozenset[ir.Edge]) -> None:
        self._fed = fed
        self._replaced: dict[str, str] = {}
        self._split: dict[str, Sequence[str]] = {}
        self._passed: dict[str, ir.Edge] = {}
        self._moved: set[str] = set()
        """The nodes of all three."""

    def replace(self, name: str, other: str) -> None:
        """Record that the node `other` replaces `name`, because both compute the same values."""
        self._replaced[name] = other
        self._moved.add(name)

    def split(self, name: str, others: Sequence[str]) -> None:
        """Record that the constants `others`, one for each output, replace the node `name`."""
        self._split[name] = others
        self._moved.add(name)

    def pass_on(self, name: str, source: ir.Edge) -> None:
        """Record that the only output of the node `name` equals the tensor `source`."""
        self._passed[name] = source
        self._moved.add(name)

    def rewire(self, node: ir.Node) -> ir.Node:
        """Return `node` with the new nodes in place of the producers that they replace."""
        if not node.control and all(edge.node not in self._moved for edge in node.inputs):
            return node
        inputs = tuple(map(self._edge, node.inputs))
        control = tuple(
            dict.fromkeys(
                name for source in node.control if (name := self._producer(source)) is not None
            )
        )
        if inputs == node.inputs and control == node.control:
            return node
        return replace(node, inputs=inputs, control=control)

    def _producer(self, name: str) -> str | None:
        """Return the node that a control edge from the node `name` waits for now, if any."""
        if name in self._passed:
            source = self._passed[name]
            return None if source in self._fed else source.node
        return self._split[name][0] if name in self._split else self._replaced.get(name, name)

    def _edge(self, edge: ir.Edge) -> ir.Edge:
        if edge in self._fed:
            return edge
        if edge.node in self._passed:
            return self._passed[edge.node]
        if edge.node in self._split:
            return ir.Edge(self._split[edge.node][edge.index])
        return ir.Edge(self._replaced.get(edge.node, edge.node), edge.index)
