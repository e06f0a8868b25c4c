"""The seam of the data plane: what a step needs of whatever carries its tensors.

A `Link` is an ordered, two-way channel of frames between two tasks. It serves one step at a time:
the master takes one per remote participant from a pool, the caller of the step reads it, and gives
it back when the step has ended well. A step that ends badly closes its links, and that is how the
others learn of it. Every plane passes one conformance suite.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


class Kind(enum.IntEnum):
    """What a frame says."""

    HELLO = 1
    START = 2
    LEG = 3
    DONE = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of a step.

    `subject` is the graph handle in START, the number of the message in LEG, and the status code in
    DONE (0: the values are the fetches; else the one value is the error message, as bytes).
    `values` are in the order of the message's edge table.
    """

    kind: Kind
    step: int
    subject: int
    values: Sequence[Array] = ()


class Link(Protocol):
    """An exclusive channel to one peer."""

    def send(self, frame: Frame) -> None:
        """Hand over a frame; the arrays may be reused when this returns.

        Never deadlocks against a peer that sends at the same time.

        Raises:
            UnavailableError: the peer is gone, or the link was closed.
        """

    def recv(self, deadline: float | None = None) -> Frame:
        """Block until the next frame. Its values may live in memory of the link: they are valid
        until a frame with the same kind and subject or the next START arrives, or the link is
        closed.

        `deadline` is in seconds of `time.monotonic`; None waits for ever.

        Raises:
            DeadlineExceededError: nothing arrived in time; the link stays usable.
            UnavailableError: the peer is gone, or the link was closed (from any thread).
        """

    def pending(self) -> bool:
        """Say whether bytes of a frame were read already: then `recv` must come before a poll."""

    def fileno(self) -> int:
        """A descriptor that polls readable when `recv` has something to read."""

    def close(self) -> None:
        """End the link, from any thread; a blocked `send` or `recv` raises. Idempotent."""


class Dialer(Protocol):
    """Makes links to the tasks of a cluster."""

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> Link:
        """Open a link to `task` (`/job:ps/replica:0/task:0`), waiting while it cannot be reached.

        Raises:
            UnavailableError: not reachable before the deadline.
            AbortedError: the task answers with another incarnation: it was restarted.
        """


class Links(Protocol):
    """Links to the tasks of a cluster, kept between steps. Thread-safe."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> Link:
        """Return an idle link to `task`, or dial one; nobody else has it until it is given back.

        Raises as `Dialer.dial`.
        """

    def give_back(self, task: str, incarnation: int, link: Link) -> None:
        """Return a link on which nothing is on its way."""

    def close(self) -> None:
        """Close every idle link, and each one that is given back later."""


def text(message: str) -> Array:
    """A string as a value of a frame."""
    return np.array(message.encode(), dtype=object)
