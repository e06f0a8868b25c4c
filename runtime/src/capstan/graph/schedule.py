"""The order of the nodes of a segment: nodes that change a variable run as late as possible.

A segment is a group of nodes that a task runs without a pause (`executor.state`).

A read shares the variable's memory. If the graph does not order a read and a change, TensorFlow
runs them in any order, and scripts use `gate_gradients` to prevent that. Here such a read gets the
value from before the changes of its segment. If the segment sends a reference variable, or a step
fetches a reference variable, the value is from after the changes.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import order


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
    """Return whether `node` may change a variable or another resource.

    A node of an unknown op changes nothing. A node that runs functions may change every resource
    that its inputs refer to.
    """
    if not opdef.is_defined(node.op):
        return False
    effect = opdef.lookup(node.op).effect
    return bool(effect.changes) or (effect.calls and bool(node.inputs))


def may_wait(node: ir.Node) -> bool:
    """Return whether `node` may have to wait for another node, step or session."""
    return opdef.is_defined(node.op) and opdef.lookup(node.op).effect.blocks
