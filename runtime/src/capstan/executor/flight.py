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

Answer = tuple[int, Sequence[Any] | None, errors.OpError | None, waiters.GiveBack | None]
"""A waiting node, its outputs (None if the node is dead), its error, and how to give them back."""


class Waits:
    """The state of the waiting nodes and of the loops of a run, which the run's lock guards."""

    __slots__ = (
        "answered",
        "answers",
        "beside",
        "flight",
        "idle",
        "running_beside",
        "started",
        "unread",
    )

    def __init__(self, *, may_block: bool) -> None:
        self.idle: deque[Callable[[], None]] = deque()
        """The waits of nodes for a device, which block."""
        self.started = 0
        """The number of nodes that have begun to wait."""
        self.flight = cancellation.Cancellation(self.idle.append if may_block else None)
        self.running_beside = 0
        """The number of segments that other threads run."""
        self.beside: deque[tuple[int, errors.OpError | None]] = deque()
        """The segments that other threads have run, with their errors."""
        self.answers: deque[Answer] = deque()
        self.unread: dict[int, waiters.GiveBack] = {}
        """How to give back the answers that no segment has read, by waiting node."""
        self.answered: set[int] = set()

    @property
    def are_idle(self) -> bool:
        """Whether nothing but a device can let a segment run. The caller holds the lock."""
        waiting = self.started - len(self.answered)
        return not self.running_beside and waiting == len(self.idle)

    def give_back(self) -> None:
        """Give back the answers that no segment has read. The caller must not hold the lock."""
        unread = list(self.unread.values())
        unread += [give_back for _, _, _, give_back in self.answers if give_back is not None]
        for give_back in unread:
            give_back()
