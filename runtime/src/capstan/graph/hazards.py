"""Which reads of resource variables need a copy, because the variable changes before their last use.

TensorFlow copies on write: what ReadVariableOp gave never changes. Here the order of a step's nodes
is known before it runs, so most reads may share the variable's memory, and those that may not are
found once, while compiling.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from capstan.core import node
from capstan.graph import infer, schedule

Key = tuple[bytes | str, bytes | str]
"""Container and name of a variable."""


def copied_reads(
    segments: Sequence[Sequence[node.Node]],
    sent: Sequence[Collection[node.Edge]],
    fetched: Collection[node.Edge],
    shares: Callable[[node.Node], bool],
) -> frozenset[str]:
    """Return the names of the ReadVariableOp nodes whose values must be copies.

    `segments` are the nodes of a part in the order in which they run; `sent[i]` leaves when segment
    i has run, `fetched` when all have. `shares` says of a node whether its outputs may lie in the
    memory of its inputs.
    """
    variables: dict[node.Edge, Key | None] = {}
    readers: dict[node.Edge, set[str]] = defaultdict(set)
    reads: dict[str, tuple[int, Key | None]] = {}
    last_use: dict[str, float] = {}
    writes: list[tuple[int, Key | None]] = []
    now = 0

    def use(edges: Collection[node.Edge], at: float) -> None:
        for edge in edges:
            last_use.update(dict.fromkeys(readers.get(edge, ()), at))

    for index, segment in enumerate(segments):
        for item in segment:
            now += 1
            use(item.inputs, now)
            key = _variable(item, variables)
            if item.op == "ReadVariableOp":
                reads[item.name] = now, key
                readers[node.Edge(item.name)].add(item.name)
            elif _is_write(item):
                writes.append((now, key))
            elif shares(item):
                for edge in _outputs(item):
                    variables[edge] = key
                    for source in item.inputs:
                        readers[edge] |= readers.get(source, set())
            elif item.op == "VarHandleOp":
                variables[node.Edge(item.name)] = key
        now += 1
        use(sent[index], now)
    use(fetched, math.inf)
    return frozenset(
        name
        for name, (start, key) in reads.items()
        if any(
            start < at <= last_use.get(name, 0) and (None in (key, other) or key == other)
            for at, other in writes
        )
    )


def _variable(item: node.Node, variables: dict[node.Edge, Key | None]) -> Key | None:
    """The variable that `item` is about; None when only the step will tell."""
    if item.op == "VarHandleOp":
        return item.attrs.get("container") or b"", item.attrs.get("shared_name") or item.name
    return variables.get(item.inputs[0]) if item.inputs else None


def _is_write(item: node.Node) -> bool:
    return schedule.changes_state(item) and not infer.arguments(item)[1]


def _outputs(item: node.Node) -> list[node.Edge]:
    return [node.Edge(item.name, index) for index in range(len(infer.arguments(item)[1]))]
