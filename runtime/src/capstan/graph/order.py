"""The topological order of nodes, which every later pass relies on."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set

from capstan import errors
from capstan.core import node as ir
from capstan.framework import facts, opdef

Nodes = dict[str, ir.Node]


def producers(node: ir.Node, fed: Container[ir.Edge] = ()) -> Iterator[str]:
    """Yield the names of the nodes that must run before `node`.

    Producers of inputs come before control dependencies. A name is repeated if it is used twice.
    The producers of the tensors `fed` may run later.
    """
    for edge in node.inputs:
        if edge not in fed:
            yield edge.node
    yield from node.control


def unordered(nodes: Mapping[str, ir.Node], names: Sequence[str]) -> frozenset[str]:
    """Return the names of the nodes that may run at the same time as another node of `names`.

    `nodes` are in topological order. Two nodes may run at the same time if neither needs the other.
    """
    if len(names) < 2:
        return frozenset()
    bits = {name: 1 << place for place, name in enumerate(names)}
    before: dict[str, int] = {}
    seen = found = 0
    for name, node in nodes.items():
        needed = 0
        for source in producers(node):
            needed |= before.get(source, 0)
        if name in bits:
            if needed != seen:
                found |= seen & ~needed | bits[name]
            seen |= bits[name]
            needed |= bits[name]
        if needed:
            before[name] = needed
    return frozenset(name for name, bit in bits.items() if bit & found)


def topological(
    nodes: Mapping[str, ir.Node],
    roots: Iterable[str],
    fed: frozenset[ir.Edge] = frozenset(),
    freed: Set[str] = frozenset(),
) -> Nodes:
    """Return the nodes that `roots` need, every producer before its consumers.

    Producers that are not in `nodes` are ignored, and so are the producers of the tensors `fed` and
    control edges from the nodes `freed`. The cost depends only on the nodes that are needed.

    The order is that of a depth-first walk, so it depends only on the graph and the order of the
    roots. Only the `NextIteration` nodes of loops come after the `Merge` that reads them.

    Raises:
        InvalidArgumentError: the nodes form a cycle that is not a loop.
    """
    done: Nodes = {}
    open_: set[str] = set()
    roots = list(roots)
    for root in roots:  # `_sources` may append further roots.
        stack: list[tuple[str, Iterator[str]]] = []
        ahead = iter((root,))
        while True:
            for source in ahead:
                if source in done or source not in nodes:
                    continue
                if source in open_:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"The graph couldn't be sorted in topological order: "
                        f"{{{{node {source}}}}} depends on itself",
                    )
                open_.add(source)
                stack.append((source, ahead))
                ahead = iter(_sources(nodes[source], nodes, roots, fed, freed))
                break
            else:
                if not stack:
                    break
                name, ahead = stack.pop()
                open_.discard(name)
                done[name] = nodes[name]
    return done


def _sources(
    node: ir.Node,
    nodes: Mapping[str, ir.Node],
    roots: list[str],
    fed: frozenset[ir.Edge],
    freed: Set[str],
) -> Sequence[str]:
    """Return the names of the nodes that `topological` has to visit before `node`.

    If the node is the merge of a loop, its `NextIteration` is not returned but added to `roots`.
    """
    sources = [edge.node for edge in node.inputs if edge not in fed]
    following: list[str] = []
    if opdef.role(node.op) is facts.Role.MERGE:
        following = [name for name in sources if _closes_loop(name, nodes)]
        roots += following
    if node.control:
        sources += [name for name in node.control if name not in freed]
    return [name for name in sources if name not in following] if following else sources


def _closes_loop(name: str, nodes: Mapping[str, ir.Node]) -> bool:
    return name in nodes and opdef.role(nodes[name].op) is facts.Role.NEXT_ITERATION
