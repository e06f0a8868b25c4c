"""The waiting nodes and the loops of one run of a part: their cancellation and their answers."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.resources import waiters

Submit = Callable[[Callable[[], None]], object]
"""Runs a function soon, in another thread or later in a thread that waits for the part.

It raises RuntimeError if there is no such thread.
"""

Answer = tuple[int, Sequence[Any] | None, errors.OpError | None]
"""A waiting node, its outputs (None if the node is dead), and its error."""


class Answers:
    """The answers of the waiting nodes of a run, which the run's lock guards."""

    __slots__ = ("answered", "arrived", "unread")

    def __init__(self) -> None:
        self.answered: set[int] = set()
        self.arrived: deque[Answer] = deque()
        """The answers that the thread of the part has not taken yet."""
        self.unread: dict[int, waiters.GiveBack] = {}
        """How to give back the answers that no segment has read, by waiting node."""

    def record(
        self,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None,
    ) -> bool:
        """Record the answer of a node. Return False, and record nothing, if it is the second."""
        if waiting in self.answered:
            return False
        self.answered.add(waiting)
        if give_back is not None:
            self.unread[waiting] = give_back
        self.arrived.append((waiting, outputs, error))
        return True

    def retract(self, waiting: int) -> None:
        """Remove an answer that no thread has taken. The caller gives it back."""
        self.arrived.remove(next(answer for answer in self.arrived if answer[0] == waiting))
        self.unread.pop(waiting, None)

    def give_back(self) -> None:
        """Give back the answers that no segment has read. The caller must not hold the lock."""
        for give_back in tuple(self.unread.values()):
            give_back()


class Waits(Answers):
    """The state of the waiting nodes and of the loops of a run, which the run's lock guards."""

    __slots__ = ("beside", "flight", "idle", "running_beside", "started")

    def __init__(self, *, may_block: bool) -> None:
        super().__init__()
        self.idle: deque[Callable[[], None]] = deque()
        """The waits of nodes for a device, which block."""
        self.started = 0
        """The number of nodes that have begun to wait."""
        self.flight = cancellation.Cancellation(self.idle.append if may_block else None)
        self.running_beside = 0
        """The number of segments that other threads run."""
        self.beside: deque[tuple[int, errors.OpError | None]] = deque()
        """The segments that other threads have run, with their errors."""

    @property
    def are_idle(self) -> bool:
        """Whether nothing but a device can let a segment run. The caller holds the lock."""
        waiting = self.started - len(self.answered)
        return not self.running_beside and waiting == len(self.idle)
