"""Lanes. A lane is a set of nodes of one task that run in order.

Nodes with different wait sets are in different lanes, so that they never delay each other. Nodes on
different devices of a task are in different lanes too, so that their segments can run at the same
time. A tensor that goes from one device to another and back needs a third lane, because the
segments of a part must not depend on each other in a cycle. The depth of a node is the
largest number of such crossings on any path to the node through nodes of the same leg and wait set.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Lane = tuple[int, int, str]
"""The number of the wait set, the depth, and the device if the task uses several of them."""

FIRST: Lane = (0, 0, "")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node runs: its task, its leg and its lane."""

    task: str
    leg: int
    lane: Lane


class Lanes:
    """The lanes of the nodes added so far."""

    def __init__(self, used: Mapping[str, Collection[str]]) -> None:
        """`used` are the devices of each task that run nodes of the step."""
        self._several = {task for task, names in used.items() if len(names) > 1}
        self._places: dict[str, _Place] = {}
        self._shared: dict[tuple[str, int, int], _Place] = {}
        """The place of all nodes of a task, a leg and a wait set, if the task uses one device."""

    def add(
        self, name: str, task: str, leg: int, wait_set: int, device: str, sources: Sequence[str]
    ) -> None:
        """Add a node whose sources were added before."""
        if task not in self._several:
            key = task, leg, wait_set
            if key not in self._shared:
                self._shared[key] = _Place(task, leg, (wait_set, 0, ""))
            self._places[name] = self._shared[key]
            return
        near = (self._places[source] for source in sources)
        depth = max(
            (
                place.lane[1] + (place.lane[2] != device)
                for place in near
                if (place.task, place.leg, place.lane[0]) == (task, leg, wait_set)
            ),
            default=0,
        )
        self._places[name] = _Place(task, leg, (wait_set, depth, device))

    def of(self, name: str) -> Lane:
        """Return the lane of a node."""
        return self._places[name].lane

    def of_outputs(self, name: str, wait_set: int) -> Lane:
        """Return the lane of the outputs of the node `name`, whose wait set is `wait_set`."""
        lane = self.of(name)
        return lane if lane[0] == wait_set else (wait_set, 0, lane[2])


def numbered(lanes: Iterable[Lane], ranks: Mapping[int, int]) -> dict[Lane, int]:
    """Return a number for each lane. A lane depends only on lanes with lower numbers.

    `ranks` gives the rank of each wait set. A set has a higher rank than all sets that it contains.
    In a step that uses one device of each task, there is one lane for each wait set, and the rank
    of the wait set is the number of the lane.
    """
    found = {FIRST, *lanes}
    if all(depth == 0 and not device for _, depth, device in found):
        return {lane: ranks[lane[0]] for lane in found}
    ordered = sorted(found, key=lambda lane: (ranks[lane[0]], *lane[1:]))
    return {lane: number for number, lane in enumerate(ordered)}
