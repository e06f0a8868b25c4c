"""Keep what a step needs: the nodes that the fetches and targets reach without crossing a feed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import node
from capstan.graph import order

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})


def prune(
    nodes: Mapping[str, node.Node],
    feeds: Sequence[node.Edge],
    fetches: Sequence[node.Edge],
    targets: Sequence[str],
) -> dict[str, node.Node]:
    """Return the nodes to run, in topological order.

    A fed tensor needs no producer; the producer stays only when something else needs it. A control
    dependency on a fed node is still one, as in TensorFlow, but on a fed placeholder it is
    fulfilled. Edges to fed tensors stay in place.

    Raises:
        NotFoundError: a feed, fetch or target names no node of the graph.
        InvalidArgumentError: the nodes needed form a cycle.
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
    fulfilled = {edge.node for edge in feeds if nodes[edge.node].op in _PLACEHOLDERS}
    freed = {
        name: replace(item, control=tuple(c for c in item.control if c not in fulfilled))
        if not fulfilled.isdisjoint(item.control)
        else item
        for name, item in nodes.items()
    }
    cut = {
        name: replace(item, inputs=tuple(edge for edge in item.inputs if edge not in fed))
        for name, item in freed.items()
    }
    roots = [edge.node for edge in fetches if edge not in fed] + list(targets)
    return {name: freed[name] for name in order.topological(cut, roots)}
