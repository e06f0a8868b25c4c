"""The last use of each tensor of a segment, after which its buffer serves another tensor.

The inputs and outputs of a node that passes memory on may lie in the same memory, so they have the
same last use. A tensor keeps its buffer if it is used outside its segment: by a
fetch, another segment, a message, a node that waits, or an op with an effect that may keep it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer

Shares = Callable[[ir.Node], bool]
"""Returns whether the outputs of a node may lie in the memory of its inputs."""


def released(
    segments: Sequence[Sequence[ir.Node]], kept: Iterable[ir.Edge], shares: Shares
) -> Mapping[str, Sequence[ir.Edge]]:
    """Return the tensors that each node is the last to use, by node name.

    `segments` are the nodes of each segment in the order in which they run. `kept` are the tensors
    that are used after their segment, for example the fetches.
    """
    lives = _Lives()
    for index, segment in enumerate(segments):
        for node in segment:
            lives.add(node, index, shares)
    for edge in kept:
        lives.keep(edge)
    return lives.ends()


class _Lives:
    """The tensors in groups that may share memory, and the last user of each group."""

    def __init__(self) -> None:
        self._parents: dict[ir.Edge, ir.Edge] = {}
        self._segments: dict[ir.Edge, int] = {}
        self._last: dict[ir.Edge, tuple[int, str]] = {}
        self._kept: set[ir.Edge] = set()
        self._time = 0

    def add(self, node: ir.Node, segment: int, shares: Shares) -> None:
        """Add the next node of the segment with the number `segment`."""
        self._time += 1
        outputs = [ir.Edge(node.name, index) for index in range(len(infer.tensors(node)[1]))]
        for edge in outputs:
            self._segments[edge] = segment
        for edge in (*node.inputs, *outputs):
            self._last[edge] = self._time, node.name
        effect = opdef.lookup(node.op).effect
        may_keep = effect != facts.PURE and not effect.copies
        for edge in node.inputs:
            if may_keep or self._segments.get(edge) != segment:
                self.keep(edge)
        if shares(node) and outputs:
            for edge in (*node.inputs, *outputs[1:]):
                self._join(outputs[0], edge)

    def keep(self, edge: ir.Edge) -> None:
        """Record that a tensor is used after its segment."""
        self._kept.add(edge)

    def ends(self) -> dict[str, list[ir.Edge]]:
        """Return the tensors that each node is the last to use, by node name."""
        groups: dict[ir.Edge, list[ir.Edge]] = defaultdict(list)
        for edge in self._segments:
            groups[self._root(edge)].append(edge)
        kept = {self._root(edge) for edge in self._kept}
        last: dict[ir.Edge, tuple[int, str]] = {}
        for edge, use in self._last.items():
            root = self._root(edge)
            last[root] = max(last.get(root, use), use)
        ends: dict[str, list[ir.Edge]] = defaultdict(list)
        for root, edges in groups.items():
            if root not in kept:
                ends[last[root][1]] += edges
        return ends

    def _root(self, edge: ir.Edge) -> ir.Edge:
        while (parent := self._parents.get(edge, edge)) != edge:
            self._parents[edge] = self._parents.get(parent, parent)
            edge = parent
        return edge

    def _join(self, first: ir.Edge, second: ir.Edge) -> None:
        self._parents[self._root(first)] = self._root(second)
