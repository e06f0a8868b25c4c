"""The groups of elementwise nodes that a device computes together.

A node joins the groups of the nodes whose outputs it reads. All nodes of a group have outputs of
one static shape, so one loop can compute all of them. A group runs in the place of its first node.
It must then find all of its inputs: every other node that it waits for comes before that place, and
so do all nodes that are in a group with such a node. So no two groups wait for each other.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from capstan.core import node as ir
from capstan.core import shapes

_MOST_INPUTS = 16
"""The inputs of a group. CUDA takes 4 KiB of arguments, which are some 50 arrays of 4 axes."""

_MOST_CALLS = 32
"""The functions of a group. To compile more takes long, and saves no more memory accesses."""

_MOST_RESULTS = 8
"""The outputs of a group. Many of them would keep memory in use for long."""


@dataclass(slots=True)
class Candidate:
    """A node that may be in a group.

    Only nodes with equal keys may be in one group. `inputs` are the inputs that are no constants,
    with their static shapes. `waits` are the nodes that must run before. `calls` is the number of
    functions that compute the node.
    """

    name: str
    key: Hashable
    shape: shapes.Shape
    inputs: Mapping[ir.Edge, shapes.Shape]
    waits: Set[str]
    calls: int


@dataclass(slots=True, eq=False)
class _Group:
    """Some nodes, and the places of the first and of the last one.

    `inputs` and `waits` are those of the members that come from outside. `read` are the members
    that others read or know. `calls` is the number of functions of all members.
    """

    members: list[Candidate]
    names: set[str]
    first: int
    last: int
    inputs: Mapping[ir.Edge, shapes.Shape]
    waits: Set[str]
    read: Sequence[str]
    calls: int


class Fusion:
    """Finds the groups of a part."""

    def __init__(
        self,
        order: Iterable[str],
        candidates: Iterable[Candidate],
        readers: Mapping[str, Set[str]],
        leaving: frozenset[str],
    ) -> None:
        """`order` are the names of all nodes, in topological order, and also the candidates.

        `readers` are the names of the nodes that need each node, and "" for a fetch. Other tasks
        know the nodes `leaving` by their names, so a group has at most one of them.
        """
        self._places = {name: place for place, name in enumerate(order)}
        self._readers = readers
        self._leaving = leaving
        self._groups: dict[str, _Group] = {}
        for candidate in candidates:
            self._add(candidate)

    def groups(self) -> list[Sequence[Candidate]]:
        """Return the members of each group, in topological order. Some groups have one member."""
        found = dict.fromkeys(self._groups.values())
        return [sorted(group.members, key=lambda each: self._places[each.name]) for group in found]

    def results(self, names: Set[str]) -> list[str]:
        """Return the members of a group whose outputs others need, in topological order.

        A member that leaves the part comes first. If nobody needs an output, return the last.
        """
        found = [name for name in names if self._is_read(name, names)]
        found = found or [max(names, key=self._places.__getitem__)]
        return sorted(found, key=lambda name: (name not in self._leaving, self._places[name]))

    def _is_read(self, name: str, names: Set[str], more: Set[str] = frozenset()) -> bool:
        """Return whether others than the nodes `names` and `more` need the output of a node."""
        readers = self._readers.get(name, frozenset())
        return name in self._leaving or not (readers <= names or readers - names <= more)

    def _alone(self, candidate: Candidate) -> _Group:
        name = candidate.name
        place, names = self._places[name], {name}
        read = [name] if self._is_read(name, names) else []
        inputs, waits = candidate.inputs, candidate.waits
        return _Group([candidate], names, place, place, inputs, waits, read, candidate.calls)

    def _add(self, candidate: Candidate) -> None:
        """Put a candidate into a group. All candidates before it are in groups."""
        group = self._alone(candidate)
        near = {
            self._groups[edge.node]: None for edge in candidate.inputs if edge.node in self._groups
        }
        for other in sorted(near, key=lambda each: each.first, reverse=True):
            is_small = other.calls + group.calls <= _MOST_CALLS
            if is_small and other.members[0].key == candidate.key:
                group = self._joined(other, group) or group
        if self._groups.get(candidate.name) is not group:
            self._groups[candidate.name] = group

    def _joined(self, one: _Group, other: _Group) -> _Group | None:
        """Make one group of two, and return it. Return None if it could not run.

        The smaller group joins the larger one, so that a large group costs little for each node.
        """
        first = min(one.first, other.first)
        inputs = {edge: shape for edge, shape in one.inputs.items() if edge.node not in other.names}
        inputs |= {
            edge: shape for edge, shape in other.inputs.items() if edge.node not in one.names
        }
        waits = {name for name in one.waits if name not in other.names}
        waits.update(name for name in other.waits if name not in one.names)
        read = [
            name for name in (*one.read, *other.read) if self._is_read(name, one.names, other.names)
        ]
        if not self._is_possible(one.members[0].shape, first, inputs, waits, read):
            return None
        kept, joining = (one, other) if len(one.members) >= len(other.members) else (other, one)
        kept.members += joining.members
        kept.names |= joining.names
        kept.first, kept.last = first, max(one.last, other.last)
        kept.inputs, kept.waits, kept.read = inputs, waits, read
        kept.calls += joining.calls
        self._groups.update(dict.fromkeys(joining.names, kept))
        return kept

    def _is_possible(
        self,
        shape: shapes.Shape,
        first: int,
        inputs: Mapping[ir.Edge, shapes.Shape],
        waits: Set[str],
        read: Sequence[str],
    ) -> bool:
        """Return whether a group of results of `shape` can run in the place `first`."""
        return (
            0 < len(inputs) <= _MOST_INPUTS
            and len(read) <= _MOST_RESULTS
            and (len(read) < 2 or len(self._leaving.intersection(read)) < 2)
            and (len(read) < 2 or _is_uniform(shape, inputs.values()))
            and not any(self._last(name) >= first for name in waits)
        )

    def _last(self, name: str) -> int:
        """Return the last place of the nodes that run together with a node."""
        group = self._groups.get(name)
        return self._places.get(name, -1) if group is None else group.last


def alike(shape: shapes.Shape, inputs: Sequence[shapes.Shape]) -> list[int]:
    """Return the numbers of the inputs that have the shape of the results, in each step.

    With several results, a step must check that these inputs have equal shapes. Otherwise, an input
    with a single row would be a result with many rows.
    """
    is_known = shape is None or None not in shape
    return [] if is_known else [number for number, each in enumerate(inputs) if each == shape]


def _is_uniform(shape: shapes.Shape, inputs: Iterable[shapes.Shape]) -> bool:
    """Return whether all results have one shape in each step in which `alike` inputs have one."""
    is_known = shape is not None and None not in shape
    return is_known or all(each == shape or _fits(each, shape) for each in inputs)


def _fits(shape: shapes.Shape, result: shapes.Shape) -> bool:
    """Return whether an input broadcasts to a result, whatever the unknown sizes are."""
    if shape is None or result is None or len(shape) > len(result):
        return False
    pairs = zip(reversed(shape), reversed(result), strict=False)
    return all(size == 1 or (size is not None and size == wanted) for size, wanted in pairs)


def readers_of(nodes: Iterable[ir.Node], fetches: Iterable[ir.Edge]) -> dict[str, set[str]]:
    """Return the names of the nodes that read each node, or wait for it, and "" for a fetch."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        for edge in node.inputs:
            found[edge.node].add(node.name)
        for name in node.control:
            found[name].add(node.name)
    for edge in fetches:
        found[edge.node].add("")
    return found
