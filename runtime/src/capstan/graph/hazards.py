"""Which reads of resource variables must be copies: those that are used after a change.

TensorFlow copies on write: what ReadVariableOp gave never changes. Here the order of a step's nodes
is known before it runs, so most reads may share the variable's memory, and those that may not are
found once, while compiling.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from capstan.core import attr_value, node
from capstan.graph import infer, schedule

Key = tuple[str, str]
"""Container and name of a variable."""
Shares = Callable[[node.Node], bool]


def copied_reads(
    segments: Sequence[Sequence[node.Node]],
    sent: Sequence[Collection[node.Edge]],
    fetched: Collection[node.Edge],
    shares: Shares,
) -> frozenset[str]:
    """Return the names of the ReadVariableOp nodes whose values must be copies.

    `segments` are the nodes of a part in the order in which they run; `sent[i]` leaves when segment
    i has run, `fetched` when all have. `shares` says of a node whether its outputs may lie in the
    memory of its inputs.
    """
    seen = _Course(shares)
    for index, segment in enumerate(segments):
        for item in segment:
            seen.run(item)
        seen.now += 1
        seen.use(sent[index], seen.now)
    seen.use(fetched, math.inf)
    return frozenset(name for name in seen.reads if seen.is_outdated(name))


class _Course:
    """What happens to variables in the course of a step, up to `now`."""

    def __init__(self, shares: Shares) -> None:
        self.now = 0
        self.reads: dict[str, tuple[int, Key | None]] = {}
        self._shares = shares
        self._variables: dict[node.Edge, Key | None] = {}
        self._views: dict[node.Edge, set[str]] = defaultdict(set)
        self._last_use: dict[str, float] = {}
        self._writes: list[tuple[int, Key | None]] = []

    def run(self, item: node.Node) -> None:
        """Note what `item` does."""
        self.now += 1
        self.use(item.inputs, self.now)
        key = self._variable(item)
        if item.op == "ReadVariableOp":
            self.reads[item.name] = self.now, key
            self._views[node.Edge(item.name)].add(item.name)
        elif item.op == "VarHandleOp":
            self._variables[node.Edge(item.name)] = key
        elif schedule.changes_state(item):
            self._writes.append((self.now, key))
        elif self._shares(item):
            self._pass_on(item, key)

    def use(self, edges: Iterable[node.Edge], at: float) -> None:
        """Note that `edges` are looked at."""
        for edge in edges:
            self._last_use.update(dict.fromkeys(self._views.get(edge, ()), at))

    def is_outdated(self, name: str) -> bool:
        """Say whether the variable may change between the read called `name` and its last use."""
        start, key = self.reads[name]
        end = self._last_use.get(name, 0)
        return any(
            start < at <= end and (key is None or other is None or key == other)
            for at, other in self._writes
        )

    def _variable(self, item: node.Node) -> Key | None:
        """The variable that `item` is about; None when only the step will tell."""
        if item.op == "VarHandleOp":
            box, shared = item.attrs.get("container"), item.attrs.get("shared_name")
            return attr_value.text(box or b""), attr_value.text(shared or item.name)
        return self._variables.get(item.inputs[0]) if item.inputs else None

    def _pass_on(self, item: node.Node, key: Key | None) -> None:
        views = {name for edge in item.inputs for name in self._views.get(edge, ())}
        for index in range(len(infer.arguments(item)[1])):
            output = node.Edge(item.name, index)
            self._variables[output] = key
            self._views[output] |= views
