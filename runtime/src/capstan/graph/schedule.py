"""The order of the nodes of a segment: nodes that change a variable run as late as possible.

A segment is a group of nodes that a task runs without a pause (`executor.state`).

A read shares the variable's memory. If the graph does not order a read and a change, TensorFlow
runs them in any order, and scripts use `gate_gradients` to prevent that. Here such a read gets the
value from before the changes of its segment. If the segment sends a reference variable, or a step
fetches a reference variable, the value is from after the changes.
"""

import heapq
from collections import defaultdict
from collections.abc import Container, Sequence

from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import order


def reads_first(
    units: Sequence[Sequence[ir.Node]], fed: Container[ir.Edge] = ()
) -> list[Sequence[ir.Node]]:
    """Return `units` in an order that delays changes of variables.

    A unit is one node, or several that run at the same time. No unit needs another that needs it.
    Every node still runs after its producers. Units that are ready at the same time keep their
    original order. If each unit is one node, the original order is topological. A reader of a
    tensor in `fed` does not need the node of the tensor.
    """
    unit_of = {node.name: number for number, unit in enumerate(units) for node in unit}
    writes = [any(map(changes_state, unit)) for unit in units]
    if not any(writes) and len(unit_of) == len(units):
        return list(units)
    missing: list[int] = []
    readers: dict[int, list[int]] = defaultdict(list)
    for number, unit in enumerate(units):
        names = (name for node in unit for name in order.producers(node, fed))
        sources = {unit_of[name] for name in names if name in unit_of}
        missing.append(len(sources))
        for source in sources:
            readers[source].append(number)
    ready = [(writes[number], number) for number in range(len(units)) if not missing[number]]
    heapq.heapify(ready)
    scheduled: list[Sequence[ir.Node]] = []
    while ready:
        _, number = heapq.heappop(ready)
        scheduled.append(units[number])
        for reader in readers[number]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (writes[reader], reader))
    return scheduled


class Changes:
    """The changes of resources for which the nodes wait that were passed to `learn`.

    Changes come after all reads that do not wait for them. If the nodes of a group waited for
    different changes, the group could delay a read until after a change.
    """

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        """The changes for which a node waits, and its own, as bits. Never 0."""
        self._last = 1

    def learn(self, node: ir.Node) -> None:
        """Record a node. Call this for its producers first."""
        changes = 0
        if self._found:
            for name in order.producers(node):
                changes |= self._found.get(name, 0)
        if changes_state(node):
            self._last <<= 1
            changes |= self._last
        if changes:
            self._found[node.name] = changes

    def of(self, name: str) -> int:
        """Return an equal number for the nodes that wait for the same changes."""
        return self._found.get(name, 0)


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
