"""Which segment may run next. Events in, instructions out; no thread, no array, no clock.

A part is a row of segments, one per leg. A segment runs once, when the segments before it have run
and the messages of its leg and of earlier legs have arrived. Counts are integers over segments;
nothing here knows a node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from capstan.partition import parts


@dataclass(frozen=True, slots=True)
class Layout:
    """The segments of a part: which messages each one waits for, and which it sends.

    `needs[i]` are message numbers; messages that no segment waits for (control to nobody) are not
    in it.
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
    """The legs at which the part has something to run, in order."""
    return tuple(sorted({part.legs[item.name] for item in part.nodes})) or (0,)


class StepState:
    """The life of one part in one step. Not thread-safe: its owner serialises the calls."""

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
        """Every segment has run."""
        return self._left == 0

    def start(self) -> Sequence[int]:
        """The step has begun and its feeds are here. Returns the segments to run now."""
        return self._count(0)

    def arrive(self, number: int) -> Sequence[int]:
        """Message `number` is here; one that came before or that nobody awaits changes nothing."""
        index = self._reader.get(number)
        if index is None or number in self._arrived:
            return ()
        self._arrived.add(number)
        return self._count(index)

    def finish(self, index: int) -> Sequence[int]:
        """Segment `index` has run."""
        self._left -= 1
        return self._count(index + 1) if index + 1 < len(self._missing) else ()

    def _count(self, index: int) -> Sequence[int]:
        self._missing[index] -= 1
        return () if self._missing[index] else (index,)
