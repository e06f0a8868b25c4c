"""When a node runs: the branches that must be taken for it, as TensorFlow's dead tensors decide.

`Switch` passes its input to one of two outputs; what hangs on the other one does not run, and
neither does what hangs on that, until a `Merge` takes the side that lives. A guard is the list of
decisions that a tensor hangs on, outermost first: it lets a compiler write an `if` where an
interpreter would carry dead tensors along.
"""

from collections.abc import Iterable

from capstan.core import node

Atom = tuple[node.Edge, bool]
"""A decision: the tensor that decides, and the side taken."""
Guard = tuple[Atom, ...]

SWITCHES = frozenset({"Switch", "RefSwitch"})
MERGES = frozenset({"Merge"})


def alive(edge: node.Edge) -> node.Edge:
    """What decides whether a tensor that arrives lives; its value may be a decision of its own.

    >>> alive(node.Edge("x", 1)), alive(node.Edge("x", -1))
    (Edge(node='x', index=-3), Edge(node='x', index=-1))
    """
    return node.Edge(edge.node, -2 - edge.index)


class Guards:
    """The guards of the nodes learnt so far.

    `fed` names the tensors that are fed: they live whatever their nodes do. `arrived` names what
    comes from elsewhere: such a tensor, or control edge (index -1), decides by itself whether it
    lives.
    """

    def __init__(self, fed: Iterable[node.Edge] = (), arrived: Iterable[node.Edge] = ()) -> None:
        self._fed = frozenset(fed)
        self._edges: dict[node.Edge, Guard] = {edge: ((alive(edge), True),) for edge in arrived}
        self._nodes: dict[str, Guard] = {}

    def learn(self, item: node.Node) -> Guard:
        """Add a node whose producers have been learnt; returns its own guard."""
        if item.op in MERGES:
            guard = self._merged(item)
        else:
            guard = _union(self.of(edge) for edge in (*item.inputs, *_controls(item)))
        self._nodes[item.name] = guard
        if item.op in SWITCHES and len(item.inputs) == 2:
            for side in (False, True):
                output = node.Edge(item.name, int(side))
                self._edges[output] = (*guard, (item.inputs[1], side))
        return guard

    def of(self, edge: node.Edge) -> Guard:
        """The guard of a tensor, or of a control edge; empty when it always lives."""
        if edge in self._fed:
            return ()
        found = self._edges.get(edge)
        return self._nodes.get(edge.node, ()) if found is None else found

    def _merged(self, item: node.Node) -> Guard:
        """What both sides of a decision share; a merge of anything else decides by itself."""
        sides = [self.of(edge) for edge in item.inputs]
        outer = _union(self.of(edge) for edge in _controls(item))
        if not all(sides):
            return outer
        if len(sides) == 2:
            one, other = map(set, sides)
            differ = one ^ other
            if len(differ) == 2 and len({edge for edge, _ in differ}) == 1:
                return _union([outer, tuple(atom for atom in sides[0] if atom in other)])
        return (*outer, (node.Edge(item.name, -1), True))


def _controls(item: node.Node) -> list[node.Edge]:
    return [node.Edge(name, -1) for name in item.control]


def _union(guards: Iterable[Guard]) -> Guard:
    return tuple(dict.fromkeys(atom for guard in guards for atom in guard))
