"""Remove the nodes that a step does not need."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import order


def prune(
    nodes: Mapping[str, ir.Node],
    feeds: Sequence[ir.Edge],
    fetches: Sequence[ir.Edge],
    targets: Sequence[str],
) -> dict[str, ir.Node]:
    """Return the nodes to run, in topological order.

    A fed tensor needs no producer. The producer stays only if another fetch, target or node needs
    it. A control dependency on a fed node remains, as in TensorFlow. A control dependency on a fed
    placeholder is removed. Inputs that are fed tensors keep their edges.

    Raises:
        NotFoundError: a feed, fetch or target names no node of the graph.
        InvalidArgumentError: the needed nodes form a cycle.
    """
    for kind, names in (
        ("FeedInputs: unable to find feed output", [edge.node for edge in feeds]),
        ("FetchOutputs node", [edge.node for edge in fetches]),
        ("PruneForTargets: Some target nodes not found:", targets),
    ):
        for name in names:
            if name not in nodes:
                raise errors.NotFoundError(None, None, f"{kind} {name}: not found")
    fed = frozenset(feeds)
    fulfilled = {
        edge.node for edge in feeds if opdef.role(nodes[edge.node].op) is facts.Role.PLACEHOLDER
    }
    roots = [edge.node for edge in fetches if edge not in fed] + list(targets)
    needed = order.topological(nodes, roots, fed, fulfilled)
    if not fulfilled:
        return needed
    return {
        name: node
        if fulfilled.isdisjoint(node.control)
        else replace(node, control=tuple(c for c in node.control if c not in fulfilled))
        for name, node in needed.items()
    }
