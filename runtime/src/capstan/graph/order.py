"""The topological order of nodes, which every later pass relies on."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

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


def topological(nodes: Nodes, roots: Iterable[str]) -> Nodes:
    """Return the nodes that `roots` need, every producer before its consumers.

    Producers that are not in `nodes` are ignored. The order is that of a depth-first walk, so it
    depends only on the graph and the order of the roots. Only the `NextIteration` nodes of loops
    come after the `Merge` that reads them.

    Raises:
        InvalidArgumentError: the nodes form a cycle that is not a loop.
    """
    done: Nodes = {}
    open_: set[str] = set()
    roots = list(roots)
    for root in roots:  # `_enter` may append further roots.
        stack: list[tuple[str, Iterator[str]]] = []
        _enter(root, nodes, done, open_, stack, roots)
        while stack:
            name, ahead = stack[-1]
            for source in ahead:
                if source in open_:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"The graph couldn't be sorted in topological order: "
                        f"{{{{node {source}}}}} depends on itself",
                    )
                if _enter(source, nodes, done, open_, stack, roots):
                    break
            else:
                stack.pop()
                open_.discard(name)
                done[name] = nodes[name]
    return done


def _enter(
    name: str,
    nodes: Nodes,
    done: Nodes,
    open_: set[str],
    stack: list[tuple[str, Iterator[str]]],
    roots: list[str],
) -> bool:
    """Begin to visit the node `name`: add it and its producers to `stack`.

    Return False, and do nothing, if the node is not in `nodes` or its visit has ended. If the node
    is the merge of a loop, its `NextIteration` is not added to `stack` but to `roots`.
    """
    if name in done or name not in nodes:
        return False
    node = nodes[name]
    open_.add(name)
    if opdef.role(node.op) is facts.Role.MERGE:
        following = [edge.node for edge in node.inputs if _closes_loop(edge.node, nodes)]
        roots += following
        stack.append((name, (source for source in producers(node) if source not in following)))
    else:
        stack.append((name, producers(node)))
    return True


def _closes_loop(name: str, nodes: Nodes) -> bool:
    return name in nodes and opdef.role(nodes[name].op) is facts.Role.NEXT_ITERATION
