"""The reads of resource variables that must be copies, because the variable changes before their
last use.

In TensorFlow the output of ReadVariableOp never changes, because a write copies the variable first.
Here the order of a step's nodes is known before the step runs. Most reads can share the variable's
memory. This pass finds the others once, when the step is compiled.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from capstan.core import dtypes, resource_name
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import guards, infer

Key = resource_name.ResourceName

BESIDE_ITERATIONS = "_beside_iterations"
"""The attribute that marks reads in a step with a loop whose iterations run as separate steps.

The iterations may change the variable between two segments of the step.
"""

_NO_VARIABLE = Key("", "")
"""Stands for a queue or another resource. No variable has this name, because the container
of a variable has a name."""
Shares = Callable[[ir.Node], bool]
"""Returns whether the outputs of a node may lie in the memory of its inputs."""


def copied_reads(
    segments: Sequence[Sequence[ir.Node]],
    sent: Sequence[Collection[ir.Edge]],
    fetched: Collection[ir.Edge],
    shares: Shares,
    default_container: str,
    *,
    is_ordered: bool = True,
) -> frozenset[str]:
    """Return the names of the reads of variables whose values must be copies.

    `segments` are the nodes of each segment of a part, in an order in which the segments can run.
    Unless `is_ordered`, the segments may also run in another order, because some of them wait. The
    tensors `sent[i]` leave the task after segment i, the tensors `fetched` after all segments.
    `default_container` is the container of the variables that name none.
    """
    history = _History(shares, default_container, is_ordered=is_ordered)
    for index, segment in enumerate(segments):
        history.segment = index
        for node in segment:
            history.run(node)
        history.now += 1
        history.use(sent[index], history.now)
    history.segment = len(segments)
    history.use(fetched, math.inf)
    return frozenset(name for name in history.reads if history.is_outdated(name))


@dataclass(frozen=True, slots=True)
class _Access:
    """A read or a write of a variable. `key` is None if the variable is unknown before the step."""

    time: int
    segment: int
    key: Key | None


class _History:
    """The reads and writes of variables in a step, up to time `now`.

    Each node takes one unit of time.
    """

    def __init__(self, shares: Shares, default_container: str, *, is_ordered: bool) -> None:
        self.now = 0
        self.segment = 0
        self.reads: dict[str, _Access] = {}
        self._is_ordered = is_ordered
        self._shares = shares
        self._default_container = default_container
        self._variables: dict[ir.Edge, Key | None] = {}
        self._views: dict[ir.Edge, set[str]] = defaultdict(set)
        self._last_use: dict[str, float] = {}
        self._kept: set[str] = set()
        """The reads whose values another segment uses."""
        self._iterated: set[str] = set()
        """The reads of steps with loops whose iterations may change a variable at any time."""
        self._writes: list[_Access] = []

    def run(self, node: ir.Node) -> None:
        """Record the reads and writes of `node`."""
        self.now += 1
        self.use(node.inputs, self.now)
        row = opdef.lookup(node.op)
        changed = _changed(node, row)
        if row.role is facts.Role.READ:
            self.reads[node.name] = self._access(node.inputs[0])
            if node.attrs.get(BESIDE_ITERATIONS):
                self._iterated.add(node.name)
            self._views[ir.Edge(node.name)].add(node.name)
        elif row.effect.makes:
            self._variables[ir.Edge(node.name)] = self._made(node, row)
        elif changed:
            self._writes += map(self._access, changed)
        elif self._shares(node):
            self._pass_on(node)

    def use(self, edges: Iterable[ir.Edge], at: float) -> None:
        """Record that `edges` are read at the time `at`."""
        for edge in edges:
            for name in self._views.get(edge, ()):
                self._last_use[name] = at
                if self.reads[name].segment != self.segment:
                    self._kept.add(name)

    def is_outdated(self, name: str) -> bool:
        """Return whether the variable may change between the read `name` and its last use."""
        read = self.reads[name]
        end = self._last_use.get(name, 0)
        if name in self._iterated and name in self._kept:
            return True
        return any(
            (read.time < write.time <= end or self._may_interfere(name, read, write))
            and (read.key is None or write.key is None or read.key == write.key)
            for write in self._writes
        )

    def _may_interfere(self, name: str, read: "_Access", write: "_Access") -> bool:
        """Return whether the segment of `write` may run between the segments that use the value."""
        is_elsewhere = read.segment != write.segment
        return not self._is_ordered and is_elsewhere and name in self._kept

    def _access(self, edge: ir.Edge) -> "_Access":
        return _Access(self.now, self.segment, self._variables.get(edge))

    def _made(self, node: ir.Node, row: opdef.OpDef) -> Key:
        if row.role is not facts.Role.VARIABLE:
            return _NO_VARIABLE
        return resource_name.of_node(node.name, node.attrs, self._default_container)

    def _pass_on(self, node: ir.Node) -> None:
        """Record that the outputs of `node` may lie in the memory of its inputs."""
        # If a key is None (unknown before the step), the key of the outputs is None too.
        keys = {self._variables.get(edge) for edge in node.inputs[: _candidates(node)]}
        key = keys.pop() if len(keys) == 1 else None
        views = {name for edge in node.inputs for name in self._views.get(edge, ())}
        for index in range(len(infer.tensors(node)[1])):
            output = ir.Edge(node.name, index)
            self._variables[output] = key
            self._views[output] |= views


def _candidates(node: ir.Node) -> int:
    """Return the number of inputs, counted from the first, whose memory the outputs may share."""
    return len(node.inputs) if guards.is_merge(node) else 1


def _changed(node: ir.Node, row: opdef.OpDef) -> list[ir.Edge]:
    """Return the references and handles by which `node` may change a variable."""
    if not row.effect.calls:
        return infer.inputs_of(node, row.effect.changes)
    return [
        edge
        for edge, (dtype, is_ref) in zip(node.inputs, infer.tensors(node)[0], strict=True)
        if is_ref or dtype is dtypes.resource
    ]
