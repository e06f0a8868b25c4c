"""The order of the nodes of a segment: whoever reads a variable runs before whoever changes it.

A read shares the variable's memory. Where the graph does not say which of a read and a change comes
first, TensorFlow leaves it to chance and scripts help themselves with `gate_gradients`; here what a
segment computes, it computes from the value before the segment's changes. What it sends of a
reference variable, or leaves for a fetch, is the value after them.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from capstan.core import dtypes, node
from capstan.graph import guards, infer, order


def reads_first(items: Sequence[node.Node]) -> list[node.Node]:
    """Return `items` (in topological order) in an order that delays changes of variables.

    Dependencies are kept; among nodes that are free to run the original order is.
    """
    index = {item.name: number for number, item in enumerate(items)}
    writes = [changes_state(item) for item in items]
    if not any(writes):
        return list(items)
    missing: list[int] = []
    readers: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        sources = {name for name in order.producers(item) if name in index}
        missing.append(len(sources))
        for name in sources:
            readers[name].append(number)
    free = [(writes[number], number) for number in range(len(items)) if not missing[number]]
    heapq.heapify(free)
    scheduled: list[node.Node] = []
    while free:
        _, number = heapq.heappop(free)
        scheduled.append(items[number])
        for reader in readers[items[number].name]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(free, (writes[reader], reader))
    return scheduled


def changes_state(item: node.Node) -> bool:
    """Say whether `item` changes a variable.

    Then it takes a reference and passes it on, or it takes a handle and gives nothing.
    """
    if item.op == "Const" or item.op in guards.SWITCHES or not item.inputs:
        return False
    inputs, outputs = infer.arguments(item)
    if not outputs:
        return any(dtype is dtypes.resource for dtype, _ in inputs)
    return any(is_ref for _, is_ref in outputs)
