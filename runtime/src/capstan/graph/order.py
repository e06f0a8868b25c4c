"""The topological order of nodes, which every later pass relies on."""

from collections.abc import Iterable, Iterator

from capstan import errors
from capstan.core import node as ir

Nodes = dict[str, ir.Node]


def producers(node: ir.Node) -> Iterator[str]:
    """Yield the names of the nodes that must run before `node`.

    Producers of inputs come before control dependencies. A name is repeated if it is used twice.
    """
    for edge in node.inputs:
        yield edge.node
    yield from node.control


def topological(nodes: Nodes, roots: Iterable[str]) -> Nodes:
    """Return the nodes that `roots` need, every producer before its consumers.

    Producers that are not in `nodes` are ignored. The order is that of a depth-first walk, so it
    depends only on the graph and the order of the roots.

    Raises:
        InvalidArgumentError: the nodes form a cycle.
    """
    done: Nodes = {}
    open_: set[str] = set()
    for root in roots:
        stack: list[tuple[str, Iterator[str]]] = []
        _enter(root, nodes, done, open_, stack)
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
                if _enter(source, nodes, done, open_, stack):
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
) -> bool:
    if name in done or name not in nodes:
        return False
    open_.add(name)
    stack.append((name, producers(nodes[name])))
    return True
