"""Cut a placed graph into parts.

The leg of a tensor is the number of task crossings on the longest path that leads to it. All
tensors that one task sends to another at one leg therefore fit into one message, which never waits
for a reply to itself. For example, a parameter server sends variables at leg 1 and receives
gradients at leg 2. Constants are copied into each part that reads them and are never sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capstan.core import node as ir
from capstan.graph import guards, infer
from capstan.partition import late_reads, parts


@dataclass(slots=True)
class _Draft:
    """A part while its nodes are being collected."""

    nodes: dict[str, ir.Node] = field(default_factory=dict)
    legs: dict[str, int] = field(default_factory=dict)
    feeds: dict[ir.Edge, None] = field(default_factory=dict)
    fetches: list[ir.Edge] = field(default_factory=list)


class _Cut:
    """The parts and messages under construction."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        tasks: Mapping[str, str],
        home: str,
        fed: frozenset[ir.Edge],
    ) -> None:
        self.nodes = nodes
        self.tasks = tasks
        self.home = home
        self.fed = fed
        self.drafts: dict[str, _Draft] = {}
        self.legs: dict[str, int] = {}
        self.messages: dict[tuple[str, str, int], dict[ir.Edge, None]] = {}
        self.conditional: dict[tuple[str, str, int], dict[ir.Edge, None]] = {}
        self.guards = guards.Guards(fed)

    def draft(self, task: str) -> _Draft:
        return self.drafts.setdefault(task, _Draft())

    def is_copied(self, name: str) -> bool:
        node = self.nodes[name]
        return infer.is_constant(node) and not node.control

    def leg_of(self, node: ir.Node) -> int:
        """Return the leg of `node`.

        It is at least the leg of each producer, and one more if the producer is in another task.
        """
        here = self.tasks[node.name]
        sources = [edge.node for edge in node.inputs if edge not in self.fed] + list(node.control)
        return max(
            (
                self.legs[source] + (self.tasks[source] != here)
                for source in sources
                if not self.is_copied(source)
            ),
            default=0,
        )

    def bring(self, edge: ir.Edge, task: str) -> None:
        """Make the tensor `edge` available in the part of `task`."""
        draft = self.draft(task)
        if edge in self.fed:
            draft.feeds[edge] = None
        elif self.is_copied(edge.node):
            draft.nodes.setdefault(edge.node, self.nodes[edge.node])
            draft.legs.setdefault(edge.node, 0)
        elif self.tasks[edge.node] != task:
            self.message(edge, task)[edge] = None

    def message(self, edge: ir.Edge, task: str) -> dict[ir.Edge, None]:
        """Return the edges of the message that brings `edge`, or a control edge, to `task`."""
        key = (self.tasks[edge.node], task, self.legs[edge.node] + 1)
        if self.guards.of(edge):
            self.conditional.setdefault(key, {})[edge] = None
        return self.messages.setdefault(key, {})

    def add(self, node: ir.Node) -> None:
        task = self.tasks[node.name]
        self.legs[node.name] = self.leg_of(node)
        for edge in node.inputs:
            self.bring(edge, task)
        for source in node.control:
            if not self.is_copied(source) and self.tasks[source] != task:
                self.message(ir.Edge(source, -1), task)
        draft = self.draft(task)
        draft.nodes[node.name] = node
        draft.legs[node.name] = self.legs[node.name]

    def fetch(self, edge: ir.Edge) -> None:
        task = self.home if self.is_copied(edge.node) else self.tasks[edge.node]
        if self.is_copied(edge.node):
            self.bring(edge, task)
        fetches = self.draft(task).fetches
        if edge not in fetches:
            fetches.append(edge)


def partition(
    nodes: Mapping[str, ir.Node],
    tasks: Mapping[str, str],
    feeds: Sequence[ir.Edge],
    fetches: Sequence[ir.Edge],
    known: infer.Knowledge,
    home: str,
) -> dict[str, parts.Part]:
    """Return the parts by task.

    `nodes` are in topological order, and `tasks` maps each name to its task. `home` is the task of
    the master, whose part returns fetched constants. Fetches that are also fed are ignored: the
    caller has their values. The facts about new tensors are added to `known`.
    """
    fed = frozenset(feeds)
    nodes, tasks = late_reads.insert(nodes, tasks, known, fed)
    cut = _Cut(nodes, tasks, home, fed)
    for node in nodes.values():
        cut.guards.learn(node)
        if cut.is_copied(node.name):
            cut.legs[node.name] = 0
        else:
            cut.add(node)
    for edge in fetches:
        if edge not in fed:
            cut.fetch(edge)
    messages = [
        parts.Message(number, *key, tuple(edges), tuple(cut.conditional.get(key, ())))
        for number, (key, edges) in enumerate(cut.messages.items())
    ]
    return {task: _part(task, draft, messages, known) for task, draft in cut.drafts.items()}


def _part(
    task: str, draft: _Draft, messages: Sequence[parts.Message], known: infer.Knowledge
) -> parts.Part:
    incoming = tuple(message for message in messages if message.destination == task)
    outgoing = tuple(message for message in messages if message.source == task)
    touched = [
        *(edge for message in (*incoming, *outgoing) for edge in message.edges),
        *draft.feeds,
        *draft.fetches,
        *(edge for node in draft.nodes.values() for edge in node.inputs),
        *(edge for edge in known.tensor_dtypes if edge.node in draft.nodes),
    ]
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
    )
