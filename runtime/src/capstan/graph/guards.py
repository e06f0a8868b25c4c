"""Guards: the branch decisions under which a node runs.

`Switch` passes its input to one of two outputs. In TensorFlow the other output is a dead tensor. A
node with a dead input does not run, and its outputs are dead too. A `Merge` takes the input that is
alive. A guard is the list of decisions that a tensor depends on, outermost first. With guards the
compiler writes an `if` where an interpreter would pass dead tensors from node to node.
"""

from collections.abc import Iterable

from capstan.core import node as ir
from capstan.framework import facts, opdef

Atom = tuple[ir.Edge, bool]
"""A decision: the deciding tensor, and the value that it must have."""
Guard = tuple[Atom, ...]
"""The decisions that a tensor depends on, outermost first."""


def is_switch(node: ir.Node) -> bool:
    """Return whether `node` passes its first input to one of two outputs."""
    return opdef.role(node.op) is facts.Role.SWITCH


def is_merge(node: ir.Node) -> bool:
    """Return whether `node` takes the first input that arrives."""
    return opdef.role(node.op) is facts.Role.MERGE


def alive(edge: ir.Edge) -> ir.Edge:
    """Return the edge that stands for this decision: is the tensor `edge` alive when it arrives?

    The result differs from `edge`. `edge` stands for the decision by the tensor's value.

    >>> alive(ir.Edge("x", 1)), alive(ir.Edge("x", -1))
    (Edge(node='x', index=-3), Edge(node='x', index=-1))
    """
    return ir.Edge(edge.node, -2 - edge.index)


class Guards:
    """The guards of the nodes that were passed to `learn`.

    The tensors in `fed` are always alive. The tensors and control edges (index -1) in `arrived`
    come from another task. For each of them a separate decision says whether it is alive.
    """

    def __init__(self, fed: Iterable[ir.Edge] = (), arrived: Iterable[ir.Edge] = ()) -> None:
        self._fed = frozenset(fed)
        self._edges: dict[ir.Edge, Guard] = {edge: ((alive(edge), True),) for edge in arrived}
        self._nodes: dict[str, Guard] = {}
        """The guards of the nodes that do not always run. Most graphs have none."""

    def learn(self, node: ir.Node) -> Guard:
        """Return the guard of `node`, and record it.

        Call `learn` for the producers of `node` first.
        """
        role = opdef.role(node.op)
        guard: Guard = ()
        if role is facts.Role.MERGE:
            guard = self._merged(node)
        elif role is not facts.Role.TRIGGER and (self._nodes or self._edges):
            guard = _union(self.of(edge) for edge in (*node.inputs, *_controls(node)))
        if guard:
            self._nodes[node.name] = guard
        if role is facts.Role.SWITCH and len(node.inputs) == 2:
            for side in (False, True):
                output = ir.Edge(node.name, int(side))
                self._edges[output] = (*guard, (node.inputs[1], side))
        return guard

    def of(self, edge: ir.Edge) -> Guard:
        """Return the guard of a tensor or control edge. It is empty if the edge is always alive."""
        if edge in self._fed:
            return ()
        guard = self._edges.get(edge)
        return self._nodes.get(edge.node, ()) if guard is None else guard

    def _merged(self, node: ir.Node) -> Guard:
        """Return the guard of a merge.

        A merge with an input that is always alive depends only on its control dependencies. A merge
        of both sides of one decision depends only on the decisions that both sides share.
        For any other merge, a separate decision says whether its output is alive.
        """
        sides = [self.of(edge) for edge in node.inputs]
        outer = _union(self.of(edge) for edge in _controls(node))
        if not all(sides):
            return outer
        if len(sides) == 2:
            first, second = map(set, sides)
            differing = first ^ second
            if len(differing) == 2 and len({edge for edge, _ in differing}) == 1:
                return _union([outer, tuple(atom for atom in sides[0] if atom in second)])
        return (*outer, (ir.Edge(node.name, -1), True))


def _controls(node: ir.Node) -> list[ir.Edge]:
    return [ir.Edge(name, -1) for name in node.control]


def _union(guards: Iterable[Guard]) -> Guard:
    return tuple(dict.fromkeys(atom for guard in guards for atom in guard))
