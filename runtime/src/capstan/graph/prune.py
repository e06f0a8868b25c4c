"""Keep what a step needs: the nodes that the fetches and targets reach without crossing a feed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import node
from capstan.graph import order


def prune(
    nodes: Mapping[str, node.Node],
    feeds: Sequence[node.Edge],
    fetches: Sequence[node.Edge],
    targets: Sequence[str],
) -> dict[str, node.Node]:
    """Return the nodes to run, in topological order.

    A fed tensor needs no producer; the producer stays only when something else needs it. A control
    dependency on a fed node is still a dependency, as in TensorFlow. Edges to fed tensors stay in
    place.

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
    cut = (
        {
            name: replace(item, inputs=tuple(edge for edge in item.inputs if edge not in fed))
            for name, item in nodes.items()
        }
        if fed
        else dict(nodes)
    )
    roots = [edge.node for edge in fetches if edge not in fed] + list(targets)
    return {name: nodes[name] for name in order.topological(cut, roots)}
