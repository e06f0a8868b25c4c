"""The decision which segment of a part may run next.

A part is a sequence of segments, one per leg. A segment runs once, after the segments before it and
after the messages of its leg and of earlier legs have arrived. The state is one count per segment.
This module uses no threads, arrays or clocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from capstan.partition import parts


@dataclass(frozen=True, slots=True)
class Layout:
    """The messages that each segment of a part waits for, and those that it sends.

    `needs[i]` are the numbers of the messages that segment i waits for. A message is in no `needs`
    if the part has no node at the message's leg or a later one.
    """

    needs: tuple[tuple[int, ...], ...]
    sends: tuple[tuple[parts.Message, ...], ...]

    @classmethod
    def of(cls, part: parts.Part) -> "Layout":
        legs = segment_legs(part)
        needs: list[tuple[int, ...]] = []
        for index, leg in enumerate(legs):
            before = legs[index - 1] if index else -1
            needs.append(tuple(m.number for m in part.incoming if before < m.leg <= leg))
        sends = tuple(tuple(m for m in part.outgoing if m.leg == leg + 1) for leg in legs)
        return cls(tuple(needs), sends)


def segment_legs(part: parts.Part) -> tuple[int, ...]:
    """Return the legs at which the part has nodes, in order. Return `(0,)` if it has no nodes."""
    return tuple(sorted({part.legs[node.name] for node in part.nodes})) or (0,)


class StepState:
    """The state of one part in one step. Not thread-safe: the owner must serialise the calls."""

    def __init__(self, layout: Layout) -> None:
        self._reader = {
            number: index for index, needs in enumerate(layout.needs) for number in needs
        }
        self._missing = [len(needs) + (index > 0) for index, needs in enumerate(layout.needs)]
        self._missing[0] += 1
        self._arrived: set[int] = set()
        self._left = len(layout.needs)

    @property
    def is_over(self) -> bool:
        """Whether every segment has run."""
        return self._left == 0

    def start(self) -> Sequence[int]:
        """Record that the step started with its feeds. Return the segments that may run now."""
        return self._count(0)

    def arrive(self, number: int) -> Sequence[int]:
        """Record that message `number` arrived. Return the segments that may run now.

        A repeated message, or one that no segment waits for, changes nothing.
        """
        index = self._reader.get(number)
        if index is None or number in self._arrived:
            return ()
        self._arrived.add(number)
        return self._count(index)

    def finish(self, index: int) -> Sequence[int]:
        """Record that segment `index` ran. Return the segments that may run now."""
        self._left -= 1
        return self._count(index + 1) if index + 1 < len(self._missing) else ()

    def _count(self, index: int) -> Sequence[int]:
        self._missing[index] -= 1
        return () if self._missing[index] else (index,)
