"""The decision which segment of a part may run next.

The nodes of a part with the same leg and the same wait set (`partition.parts`) form a segment. A
segment runs once. It waits for

* the segment with the same wait set and the next lower leg,
* the segments, the waiting nodes and the messages whose values its nodes read, and
* the messages of its own wait set and leg, or of a lower leg that has no such segment.

The state is one count per segment. This module uses no threads, arrays or clocks.
"""

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from capstan.core import node as ir
from capstan.partition import parts

Key = tuple[int, int]
"""The leg and the wait set of a segment."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The segments of a part, and the events after which each of them may run.

    The segments can run in the order of their numbers. `needs[i]` are the numbers of the messages
    that segment i waits for, and `sends[i]` are the messages that it sends. `before[i]` are the
    segments that it waits for. `starts[i]` are the waiting nodes of segment i, by their position in
    `waiting`, and segment i waits for the answers of the waiting nodes `awaits[i]`.
    """

    keys: tuple[Key, ...]
    needs: tuple[tuple[int, ...], ...]
    sends: tuple[tuple[parts.Message, ...], ...]
    before: tuple[tuple[int, ...], ...]
    waiting: tuple[str, ...]
    starts: tuple[tuple[int, ...], ...]
    awaits: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, part: parts.Part) -> "Layout":
        found = _Dependencies(part)
        sends: dict[Key, list[parts.Message]] = defaultdict(list)
        for message in part.outgoing:
            sends[message.leg - 1, message.wait_set].append(message)
        return cls(
            keys=tuple(found.keys),
            needs=_sorted(found.needs),
            sends=tuple(tuple(sends[key]) for key in found.keys),
            before=_sorted(found.before),
            waiting=tuple(found.waiting),
            starts=_sorted(found.starts),
            awaits=_sorted(found.awaits),
        )


def segment_key(part: parts.Part, name: str) -> Key:
    """Return the leg and the wait set of the segment of a node."""
    return part.legs[name], part.wait_sets.get(name, 0)


class _Dependencies:
    """The segments of a part, and the events that each waits for."""

    def __init__(self, part: parts.Part) -> None:
        self._part = part
        keys = {segment_key(part, node.name) for node in part.nodes}
        keys |= {(message.leg - 1, message.wait_set) for message in part.outgoing}
        self.keys: list[Key] = sorted(keys) or [(0, 0)]
        self._numbers = {key: number for number, key in enumerate(self.keys)}
        names = [node.name for node in part.nodes if node.name in part.answers]
        self.waiting = {name: number for number, name in enumerate(names)}
        self.needs: list[set[int]] = [set() for _ in self.keys]
        self.before: list[set[int]] = [set() for _ in self.keys]
        self.starts: list[set[int]] = [set() for _ in self.keys]
        self.awaits: list[set[int]] = [set() for _ in self.keys]
        self._follow_legs()
        if part.answers or part.wait_sets or any(message.wait_set for message in part.incoming):
            # Without waiting nodes every value comes from an earlier leg.
            self._follow_values()

    def _follow_legs(self) -> None:
        """Add the order of the segments of each wait set, and the messages of that set."""
        chains: dict[int, list[int]] = defaultdict(list)
        for leg, wait_set in self.keys:
            chains[wait_set].append(leg)
        for wait_set, legs in chains.items():
            for earlier, later in itertools.pairwise(legs):
                self.before[self._numbers[later, wait_set]].add(self._numbers[earlier, wait_set])
        for message in self._part.incoming:
            legs = chains[message.wait_set]
            place = bisect.bisect_left(legs, message.leg)
            if place < len(legs):
                self.needs[self._numbers[legs[place], message.wait_set]].add(message.number)

    def _follow_values(self) -> None:
        """Add the events that give each node its inputs and control dependencies."""
        carried = {
            edge: message.number for message in self._part.incoming for edge in _carried(message)
        }
        fed = frozenset(self._part.feeds)
        for node in self._part.nodes:
            index = self._numbers[segment_key(self._part, node.name)]
            controls = (ir.Edge(name, -1) for name in node.control)
            for edge in (*(edge for edge in node.inputs if edge not in fed), *controls):
                self._read(index, edge, carried)
            if node.name in self.waiting:
                self.starts[index].add(self.waiting[node.name])
        for message in self._part.outgoing:
            index = self._numbers[message.leg - 1, message.wait_set]
            for edge in _carried(message):
                self._read(index, edge, carried)

    def _read(self, index: int, edge: ir.Edge, carried: Mapping[ir.Edge, int]) -> None:
        """Record that segment `index` reads `edge`."""
        if edge in carried:
            self.needs[index].add(carried[edge])
        elif edge.node in self.waiting:
            self.awaits[index].add(self.waiting[edge.node])
        elif edge.node in self._part.legs:
            producer = self._numbers[segment_key(self._part, edge.node)]
            if producer != index:
                self.before[index].add(producer)


def _carried(message: parts.Message) -> Iterable[ir.Edge]:
    """Yield the tensors and the control edges that a message carries."""
    yield from message.edges
    for name in message.controls:
        yield ir.Edge(name, -1)


def _sorted(sets: Iterable[set[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(numbers)) for numbers in sets)


class Plan:
    """The tables of a layout that the state of every step uses."""

    __slots__ = ("events", "missing", "of_answer", "of_message", "of_segment", "roots")

    def __init__(self, layout: Layout) -> None:
        self.events = len(layout.keys) + len(layout.waiting)
        self.of_message = _readers(layout.needs)
        self.of_segment = _readers(layout.before)
        self.of_answer = _readers(layout.awaits)
        self.roots = tuple(
            index
            for index, before in enumerate(layout.before)
            if not before and not layout.awaits[index]
        )
        self.missing = [
            sum(map(len, waits))
            for waits in zip(layout.needs, layout.before, layout.awaits, strict=True)
        ]
        for index in self.roots:
            self.missing[index] += 1  # A root also waits for the start of the step.


def _readers(numbers: Sequence[Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Return, for each event, the indices of the sequences in `numbers` that have the event."""
    found: dict[int, list[int]] = defaultdict(list)
    for index, events in enumerate(numbers):
        for event in events:
            found[event].append(index)
    return {event: tuple(positions) for event, positions in found.items()}


class StepState:
    """The state of one part in one step. Not thread-safe: the owner must serialise the calls."""

    __slots__ = ("_arrived", "_left", "_missing", "_plan")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._missing = list(plan.missing)
        self._arrived: set[int] = set()
        self._left = plan.events

    @property
    def is_over(self) -> bool:
        """Whether every segment has run and every waiting node has answered."""
        return self._left == 0

    def start(self) -> Sequence[int]:
        """Record that the step started with its feeds. Return the segments that may run now."""
        return self._count(self._plan.roots)

    def arrive(self, number: int) -> Sequence[int]:
        """Record that message `number` arrived. Return the segments that may run now.

        A repeated message changes nothing. Neither does a message that no segment waits for.
        """
        readers = self._plan.of_message.get(number)
        if readers is None or number in self._arrived:
            return ()
        self._arrived.add(number)
        return self._count(readers)

    def finish(self, index: int) -> Sequence[int]:
        """Record that segment `index` ran. Return the segments that may run now."""
        self._left -= 1
        return self._count(self._plan.of_segment.get(index, ()))

    def answer(self, waiting: int) -> Sequence[int]:
        """Record that a waiting node answered. Return the segments that may run now.

        The caller must call this once for each waiting node.
        """
        self._left -= 1
        return self._count(self._plan.of_answer.get(waiting, ()))

    def _count(self, segments: Sequence[int]) -> Sequence[int]:
        missing = self._missing
        ready: list[int] = []
        for index in segments:
            missing[index] -= 1
            if not missing[index]:
                ready.append(index)
        return ready
