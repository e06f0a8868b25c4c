"""The reads of resource variables that must be copies, because the variable changes before their
last use.

In TensorFlow the output of ReadVariableOp never changes, because a write copies the variable first.
Here the order of a step's nodes is known before the step runs. Most reads can share the variable's
memory. This pass finds the others once, when the step is compiled.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from capstan.core import attr_value
from capstan.core import node as ir
from capstan.graph import infer, schedule

Key = tuple[str, str]
"""Container and name of a variable."""
Shares = Callable[[ir.Node], bool]
"""Returns whether the outputs of a node may lie in the memory of its inputs."""


def copied_reads(
    segments: Sequence[Sequence[ir.Node]],
    sent: Sequence[Collection[ir.Edge]],
    fetched: Collection[ir.Edge],
    shares: Shares,
) -> frozenset[str]:
    """Return the names of the ReadVariableOp nodes whose values must be copies.

    `segments` are the nodes of a part in the order in which they run. The tensors `sent[i]` leave
    the task after segment i, the tensors `fetched` after all segments.
    """
    history = _History(shares)
    for index, segment in enumerate(segments):
        for node in segment:
            history.run(node)
        history.now += 1
        history.use(sent[index], history.now)
    history.use(fetched, math.inf)
    return frozenset(name for name in history.reads if history.is_outdated(name))


class _History:
    """The reads and writes of variables in a step, up to time `now`. Each node takes one unit."""

    def __init__(self, shares: Shares) -> None:
        self.now = 0
        self.reads: dict[str, tuple[int, Key | None]] = {}
        self._shares = shares
        self._variables: dict[ir.Edge, Key | None] = {}
        self._views: dict[ir.Edge, set[str]] = defaultdict(set)
        self._last_use: dict[str, float] = {}
        self._writes: list[tuple[int, Key | None]] = []

    def run(self, node: ir.Node) -> None:
        """Record the reads and writes of `node`."""
        self.now += 1
        self.use(node.inputs, self.now)
        key = self._variable(node)
        if node.op == "ReadVariableOp":
            self.reads[node.name] = self.now, key
            self._views[ir.Edge(node.name)].add(node.name)
        elif node.op == "VarHandleOp":
            self._variables[ir.Edge(node.name)] = key
        elif schedule.changes_state(node):
            self._writes.append((self.now, key))
        elif self._shares(node):
            self._pass_on(node, key)

    def use(self, edges: Iterable[ir.Edge], at: float) -> None:
        """Record that `edges` are read at the time `at`."""
        for edge in edges:
            self._last_use.update(dict.fromkeys(self._views.get(edge, ()), at))

    def is_outdated(self, name: str) -> bool:
        """Return whether the variable may change between the read `name` and its last use."""
        start, key = self.reads[name]
        end = self._last_use.get(name, 0)
        return any(
            start < at <= end and (key is None or written is None or key == written)
            for at, written in self._writes
        )

    def _variable(self, node: ir.Node) -> Key | None:
        """Return the variable that `node` makes or uses. None if it is unknown before the step."""
        if node.op == "VarHandleOp":
            container, shared_name = node.attrs.get("container"), node.attrs.get("shared_name")
            return attr_value.text(container or b""), attr_value.text(shared_name or node.name)
        return self._variables.get(node.inputs[0]) if node.inputs else None

    def _pass_on(self, node: ir.Node, key: Key | None) -> None:
        views = {name for edge in node.inputs for name in self._views.get(edge, ())}
        for index in range(len(infer.arguments(node)[1])):
            output = ir.Edge(node.name, index)
            self._variables[output] = key
            self._views[output] |= views
