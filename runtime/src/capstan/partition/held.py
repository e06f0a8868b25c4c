"""Stacks and TensorArrays whose handles nodes of other tasks read.

Such an object lives as long as its own task reads the handle. A loop on another task may use the
object too: the iterations of the loop are separate steps, and the parts of these steps find the
object by its handle. This pass keeps the object alive: it adds an `Identity` on the object's task,
which reads the handle after all nodes of other tasks have read it.
"""

from collections import defaultdict
from collections.abc import Mapping

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.framework.ops import nodes as build
from capstan.graph import infer


def insert(
    nodes: Mapping[str, ir.Node],
    tasks: Mapping[str, str],
    known: infer.Knowledge,
    fed: frozenset[ir.Edge],
) -> tuple[dict[str, ir.Node], dict[str, str]]:
    """Return the graph and the tasks of its nodes, with an `Identity` for each such handle.

    `nodes` and the returned graph are in topological order. The facts about the new tensors are
    added to `known`. The handle of a resource with a name needs no such node.
    """
    if len(set(tasks.values())) < 2:
        return dict(nodes), dict(tasks)
    readers: dict[ir.Edge, dict[str, None]] = defaultdict(dict)
    for node in nodes.values():
        for edge in node.inputs:
            is_away = edge not in fed and tasks[edge.node] != tasks[node.name]
            if is_away and known.tensor_dtypes.get(edge) is dtypes.resource:
                readers[edge][node.name] = None
    graph, places = dict(nodes), dict(tasks)
    for edge, names in readers.items():
        if edge in known.named:
            continue
        name = _free_name(f"{edge.node}/held_{edge.index}", graph)
        device = nodes[edge.node].device
        graph[name] = build.identity(name, edge, dtypes.resource, device, tuple(names))
        places[name] = tasks[edge.node]
        known.learn(graph[name])
    return graph, places


def _free_name(wanted: str, taken: Mapping[str, ir.Node]) -> str:
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
