"""Constants that wait for other nodes: the readers of such a constant wait in its place.

A constant may wait because it replaces a computed node (`graph.waits`). Such a constant would be a
node of its device between two nodes of another device, and the segment of these would be cut in
two. A constant that waits for nothing costs nothing: each part that reads it has a copy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node as ir
from capstan.graph import guards, infer


def release(nodes: Mapping[str, ir.Node], fed: frozenset[ir.Edge]) -> dict[str, ir.Node]:
    """Return an equivalent graph, in the order of `nodes`, which is topological.

    A constant in a branch stays as it is, because its control dependency says when it is alive.
    """
    if not any(node.control and infer.is_constant(node) for node in nodes.values()):
        return dict(nodes)
    known = guards.Guards(fed)
    awaited: dict[str, tuple[str, ...]] = {}
    released: dict[str, ir.Node] = {}
    for node in nodes.values():
        if not known.learn(node) and infer.is_constant(node) and node.control:
            awaited[node.name] = _moved(node.control, awaited)
            node = replace(node, control=())
        elif awaited:
            sources = [edge.node for edge in node.inputs if edge not in fed]
            waits = [name for source in sources for name in awaited.get(source, ())]
            node = replace(node, control=_moved((*node.control, *waits), awaited))
        released[node.name] = node
    return released


def _moved(control: Iterable[str], awaited: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return control dependencies with those of released constants in place of the constants."""
    found = (each for name in control for each in awaited.get(name, (name,)))
    return tuple(dict.fromkeys(found))
