"""The order of the nodes of a segment: reads of a variable run before changes of it.

A read shares the variable's memory. If the graph does not order a read and a change, TensorFlow
runs them in any order, and scripts use `gate_gradients` to prevent that. Here a segment computes
with the values from before its changes. The values of reference variables that it sends or that are
fetched are the values after its changes.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.graph import guards, infer, order


def reads_first(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """Return `nodes` (in topological order) in an order that delays changes of variables.

    Every node still runs after its producers. Nodes that are ready at the same time keep their
    original order.
    """
    index = {node.name: number for number, node in enumerate(nodes)}
    writes = [changes_state(node) for node in nodes]
    if not any(writes):
        return list(nodes)
    missing: list[int] = []
    readers: dict[str, list[int]] = defaultdict(list)
    for number, node in enumerate(nodes):
        sources = {name for name in order.producers(node) if name in index}
        missing.append(len(sources))
        for name in sources:
            readers[name].append(number)
    ready = [(writes[number], number) for number in range(len(nodes)) if not missing[number]]
    heapq.heapify(ready)
    scheduled: list[ir.Node] = []
    while ready:
        _, number = heapq.heappop(ready)
        scheduled.append(nodes[number])
        for reader in readers[nodes[number].name]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (writes[reader], reader))
    return scheduled


def changes_state(node: ir.Node) -> bool:
    """Return whether `node` changes a variable.

    Such a node passes on a reference, or it takes a handle and has no outputs.
    """
    if node.op == "Const" or node.op in guards.SWITCHES or not node.inputs:
        return False
    inputs, outputs = infer.arguments(node)
    if not outputs:
        return any(dtype is dtypes.resource for dtype, _ in inputs)
    return any(is_ref for _, is_ref in outputs)
