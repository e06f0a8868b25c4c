"""Cut a placed graph into parts.

The leg of a tensor is the number of task crossings on the longest path to the tensor. All tensors
that one task sends to another at one leg can therefore travel in one message: none of them depends
on a reply to this message. For example, a parameter server sends variables at leg 1 and receives
gradients at leg 2. Constants are copied into each part that reads them and are never sent.

Tensors with different wait sets travel in different messages. Otherwise a waiting node would delay
tensors that do not depend on it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capstan.core import node as ir
from capstan.graph import guards, infer
from capstan.partition import free_constants, held, lanes, late_reads, parts

_Key = tuple[str, str, int, lanes.Lane]
"""Source, destination, leg and lane of a message."""


@dataclass(slots=True)
class _Draft:
    """A part while its nodes are being collected."""

    nodes: dict[str, ir.Node] = field(default_factory=dict)
    legs: dict[str, int] = field(default_factory=dict)
    feeds: dict[ir.Edge, None] = field(default_factory=dict)
    fetches: dict[ir.Edge, None] = field(default_factory=dict)


class _Cut:
    """The parts and messages under construction."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        tasks: Mapping[str, str],
        home: str,
        fed: frozenset[ir.Edge],
        waiting: Collection[str],
    ) -> None:
        self.nodes = nodes
        self.copied = {
            name for name, node in nodes.items() if infer.is_constant(node) and not node.control
        }
        """The constants of which each part that reads them has a copy."""
        self.tasks = tasks
        self.home = home
        self.fed = fed
        self.drafts: dict[str, _Draft] = {}
        self.legs: dict[str, int] = {}
        self.wait_sets = _WaitSets(waiting)
        self.lanes = lanes.Lanes(self._used())
        self.messages: dict[_Key, dict[ir.Edge, None]] = {}
        self.conditional: dict[_Key, dict[ir.Edge, None]] = {}
        self.controls: dict[_Key, dict[str, None]] = {}
        self.guards = guards.Guards(fed)

    def _used(self) -> dict[str, set[str]]:
        """Return the devices of each task that run nodes. Constants run on none."""
        used: dict[str, set[str]] = {}
        for node in self.nodes.values():
            if node.name not in self.copied:
                used.setdefault(self.tasks[node.name], set()).add(node.device)
        return used

    def draft(self, task: str) -> _Draft:
        found = self.drafts.get(task)
        if found is None:
            found = self.drafts[task] = _Draft()
        return found

    def sources(self, node: ir.Node) -> list[str]:
        """Return the nodes that must run before `node`, without copied constants."""
        names = [edge.node for edge in node.inputs if edge not in self.fed] + list(node.control)
        return [name for name in names if name not in self.copied]

    def leg_of(self, node: ir.Node, sources: Sequence[str]) -> int:
        """Return the leg of `node`.

        It is at least the leg of each producer, and one more if the producer is in another task.
        """
        here = self.tasks[node.name]
        return max(
            (self.legs[source] + (self.tasks[source] != here) for source in sources), default=0
        )

    def bring(self, edge: ir.Edge, task: str) -> None:
        """Make the tensor `edge` available in the part of `task`."""
        draft = self.draft(task)
        if edge in self.fed:
            draft.feeds[edge] = None
        elif edge.node in self.copied:
            node = self.nodes[edge.node]
            if self.tasks[edge.node] != task:
                node = replace(node, device=task)
            draft.nodes.setdefault(edge.node, node)
            draft.legs.setdefault(edge.node, 0)
        elif self.tasks[edge.node] != task:
            self.message(edge, task)[edge] = None

    def message(self, edge: ir.Edge, task: str) -> dict[ir.Edge, None]:
        """Return the edges of the message that brings `edge`, or a control edge, to `task`."""
        key = (
            self.tasks[edge.node],
            task,
            self.legs[edge.node] + 1,
            self.lanes.of_outputs(edge.node, self.wait_sets.of_outputs(edge.node)),
        )
        if self.guards.of(edge):
            self.conditional.setdefault(key, {})[edge] = None
        if edge.index < 0:
            self.controls.setdefault(key, {})[edge.node] = None
        return self.messages.setdefault(key, {})

    def add(self, node: ir.Node) -> None:
        task = self.tasks[node.name]
        sources = self.sources(node)
        self.legs[node.name] = self.leg_of(node, sources)
        self.wait_sets.add(node.name, sources)
        wait_set = self.wait_sets.of(node.name)
        self.lanes.add(node.name, task, self.legs[node.name], wait_set, node.device, sources)
        for edge in node.inputs:
            self.bring(edge, task)
        for source in node.control:
            if source not in self.copied and self.tasks[source] != task:
                self.message(ir.Edge(source, -1), task)
        draft = self.draft(task)
        draft.nodes[node.name] = node
        draft.legs[node.name] = self.legs[node.name]

    def lane_numbers(self) -> dict[lanes.Lane, int]:
        """Return the number of each lane of the step."""
        found = {self.lanes.of(name) for draft in self.drafts.values() for name in self.own(draft)}
        found |= {self._answer(name) for name in self.wait_sets.waiting if name in self.legs}
        found |= {key[3] for key in self.messages}
        return lanes.numbered(found, self.wait_sets.ranks())

    def lanes_within(
        self, draft: _Draft, numbers: Mapping[lanes.Lane, int]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return `Part.wait_sets` and `Part.answers` of a part."""
        found: dict[str, int] = {}
        answers: dict[str, int] = {}
        if len(numbers) > 1 or self.wait_sets.waiting:
            for name in self.own(draft):
                if number := numbers[self.lanes.of(name)]:
                    found[name] = number
                if name in self.wait_sets.waiting:
                    answers[name] = numbers[self._answer(name)]
        return found, answers

    def own(self, draft: _Draft) -> list[str]:
        """Return the nodes of a part without copied constants."""
        return [name for name in draft.nodes if name not in self.copied]

    def _answer(self, name: str) -> lanes.Lane:
        return self.lanes.of_outputs(name, self.wait_sets.of_outputs(name))

    def fetch(self, edge: ir.Edge) -> None:
        task = self.home if edge.node in self.copied else self.tasks[edge.node]
        if edge.node in self.copied:
            self.bring(edge, task)
        self.draft(task).fetches[edge] = None


class _WaitSets:
    """The wait sets of the nodes added so far.

    A set is an integer with one bit for each waiting node. The first node with a new set gives the
    set the next number. `ranks` orders the sets when all nodes have been added.
    """

    def __init__(self, waiting: Collection[str]) -> None:
        self.waiting = frozenset(waiting)
        """The nodes that may answer late."""
        self._bits = {name: 1 << index for index, name in enumerate(waiting)}
        self._sets: dict[str, int] = {}
        self._numbers = {0: 0}

    def add(self, name: str, sources: Sequence[str]) -> None:
        """Add a node whose sources were added before."""
        if not self._bits:
            return
        found = 0
        for source in sources:
            found |= self._sets.get(source, 0) | self._bits.get(source, 0)
        if found:
            self._sets[name] = found
            self._numbers.setdefault(found, len(self._numbers))
        if name in self._bits:
            self._numbers.setdefault(found | self._bits[name], len(self._numbers))

    def of(self, name: str) -> int:
        """Return the number of the wait set of a node."""
        return self._numbers[self._sets.get(name, 0)]

    def of_outputs(self, name: str) -> int:
        """Return the number of the wait set of the outputs of a node."""
        return self._numbers[self._sets.get(name, 0) | self._bits.get(name, 0)]

    def ranks(self) -> dict[int, int]:
        """Return the rank of each set, by the number of the set.

        A set has a higher rank than all sets that it contains.
        """
        ordered = sorted(self._numbers, key=lambda found: (found.bit_count(), self._numbers[found]))
        return {self._numbers[found]: rank for rank, found in enumerate(ordered)}


def partition(
    nodes: Mapping[str, ir.Node],
    tasks: Mapping[str, str],
    feeds: Sequence[ir.Edge],
    fetches: Sequence[ir.Edge],
    known: infer.Knowledge,
    home: str,
    waiting: Collection[str] = (),
) -> dict[str, parts.Part]:
    """Return the parts by task.

    `nodes` are in topological order, and `tasks` maps each name to its task. `home` is the task of
    the master, whose part returns fetched constants. Fetches that are also fed are ignored, because
    the caller has their values. The facts about new tensors are added to `known`. `waiting` names
    the nodes that may answer late.
    """
    fed = frozenset(feeds)
    nodes = free_constants.release(nodes, fed)
    nodes, tasks = late_reads.insert(nodes, tasks, known, fed)
    nodes, tasks = held.insert(nodes, tasks, known, fed)
    cut = _Cut(nodes, tasks, home, fed, waiting)
    for node in nodes.values():
        cut.guards.learn(node)
        if node.name in cut.copied:
            cut.legs[node.name] = 0
        else:
            cut.add(node)
    for edge in fetches:
        if edge not in fed:
            cut.fetch(edge)
    numbers = cut.lane_numbers()
    messages = [
        parts.Message(
            number,
            *key[:3],
            edges=tuple(edges),
            conditional=tuple(cut.conditional.get(key, ())),
            wait_set=numbers[key[3]],
            controls=tuple(cut.controls.get(key, ())),
        )
        for number, (key, edges) in enumerate(cut.messages.items())
    ]
    return {
        task: _part(task, draft, messages, known, cut.lanes_within(draft, numbers))
        for task, draft in cut.drafts.items()
    }


def _part(
    task: str,
    draft: _Draft,
    messages: Sequence[parts.Message],
    known: infer.Knowledge,
    wait_sets: tuple[dict[str, int], dict[str, int]],
) -> parts.Part:
    incoming = tuple(message for message in messages if message.destination == task)
    outgoing = tuple(message for message in messages if message.source == task)
    touched = dict.fromkeys(
        (
            *(edge for message in (*incoming, *outgoing) for edge in message.edges),
            *draft.feeds,
            *draft.fetches,
            *(edge for node in draft.nodes.values() for edge in node.inputs),
            *(edge for edge in known.tensor_dtypes if edge.node in draft.nodes),
        )
    )
    return parts.Part(
        task=task,
        nodes=tuple(draft.nodes.values()),
        legs=draft.legs,
        incoming=incoming,
        outgoing=outgoing,
        feeds=tuple(draft.feeds),
        fetches=tuple(draft.fetches),
        tensor_shapes={edge: known.tensor_shapes.get(edge) for edge in touched},
        tensor_dtypes={
            edge: known.tensor_dtypes[edge] for edge in touched if edge in known.tensor_dtypes
        },
        wait_sets=wait_sets[0],
        answers=wait_sets[1],
    )
