"""Cut a placed graph into parts.

The leg of a tensor is the number of task crossings on the longest path that leads to it, so what
one task owes another at one leg can travel in one message without waiting for its own answer: a
parameter server sends variables (leg 1), gets gradients (leg 2), and neither waits for the other's
next message. Constants are copied into each part that reads them and never travel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capstan.core import node
from capstan.graph import guards, infer
from capstan.partition import late_reads, parts


@dataclass(slots=True)
class _Draft:
    """A part while its nodes are being collected."""

    nodes: dict[str, node.Node] = field(default_factory=dict)
    legs: dict[str, int] = field(default_factory=dict)
    feeds: dict[node.Edge, None] = field(default_factory=dict)
    fetches: list[node.Edge] = field(default_factory=list)


class _Cut:
    """One partitioning in progress."""

    def __init__(
        self,
        nodes: Mapping[str, node.Node],
        tasks: Mapping[str, str],
        home: str,
        fed: frozenset[node.Edge],
    ) -> None:
        self.nodes = nodes
        self.tasks = tasks
        self.home = home
        self.fed = fed
        self.drafts: dict[str, _Draft] = {}
        self.legs: dict[str, int] = {}
        self.messages: dict[tuple[str, str, int], dict[node.Edge, None]] = {}
        self.conditional: dict[tuple[str, str, int], dict[node.Edge, None]] = {}
        self.guards = guards.Guards(fed)

    def draft(self, task: str) -> _Draft:
        return self.drafts.setdefault(task, _Draft())

    def is_copied(self, name: str) -> bool:
        item = self.nodes[name]
        return item.op == "Const" and not item.control

    def leg_of(self, item: node.Node) -> int:
        """One more than the leg of each producer in another task, the same as those in this one."""
        here = self.tasks[item.name]
        sources = [edge.node for edge in item.inputs if edge not in self.fed] + list(item.control)
        return max(
            (
                self.legs[source] + (self.tasks[source] != here)
                for source in sources
                if not self.is_copied(source)
            ),
            default=0,
        )

    def bring(self, edge: node.Edge, task: str) -> None:
        """Make `edge` readable in the part of `task`."""
        draft = self.draft(task)
        if edge in self.fed:
            draft.feeds[edge] = None
        elif self.is_copied(edge.node):
            draft.nodes.setdefault(edge.node, self.nodes[edge.node])
            draft.legs.setdefault(edge.node, 0)
        elif self.tasks[edge.node] != task:
            self.message(edge, task)[edge] = None

    def message(self, edge: node.Edge, task: str) -> dict[node.Edge, None]:
        """The message that makes `edge`, be it a control edge, known to `task`."""
        key = (self.tasks[edge.node], task, self.legs[edge.node] + 1)
        if self.guards.of(edge):
            self.conditional.setdefault(key, {})[edge] = None
        return self.messages.setdefault(key, {})

    def add(self, item: node.Node) -> None:
        task = self.tasks[item.name]
        self.legs[item.name] = self.leg_of(item)
        for edge in item.inputs:
            self.bring(edge, task)
        for source in item.control:
            if not self.is_copied(source) and self.tasks[source] != task:
                self.message(node.Edge(source, -1), task)
        draft = self.draft(task)
        draft.nodes[item.name] = item
        draft.legs[item.name] = self.legs[item.name]

    def fetch(self, edge: node.Edge) -> None:
        task = self.home if self.is_copied(edge.node) else self.tasks[edge.node]
        if self.is_copied(edge.node):
            self.bring(edge, task)
        fetches = self.draft(task).fetches
        if edge not in fetches:
            fetches.append(edge)


def partition(
    nodes: Mapping[str, node.Node],
    tasks: Mapping[str, str],
    feeds: Sequence[node.Edge],
    fetches: Sequence[node.Edge],
    known: infer.Knowledge,
    home: str,
) -> dict[str, parts.Part]:
    """Return the parts by task.

    `nodes` are in topological order; `tasks` names the task of each. `home` is the task of the
    master, where fetched constants are taken. Fetches that are fed are the caller's business.
    `known` learns the tensors that partitioning adds.
    """
    fed = frozenset(feeds)
    nodes, tasks = late_reads.insert(nodes, tasks, known, fed)
    cut = _Cut(nodes, tasks, home, fed)
    for item in nodes.values():
        cut.guards.learn(item)
        if cut.is_copied(item.name):
            cut.legs[item.name] = 0
        else:
            cut.add(item)
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
        *(edge for item in draft.nodes.values() for edge in item.inputs),
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
