"""The interface of the data plane, which carries the tensors of steps.

A `Link` is an ordered, two-way channel of frames between two tasks. It serves one step at a time.
The master takes one link for each remote task of a step from a pool. The thread that runs the step
reads the links, and gives back those on which the parts have ended. A step that fails closes the
others, which tells their tasks. Every data plane passes the same conformance suite.
"""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


class Kind(enum.IntEnum):
    """The kind of a frame.

    CANCEL asks a task to end its part of a step. The task answers with the DONE of the part, which
    may report success, or has sent it already.
    """

    HELLO = 1
    START = 2
    LEG = 3
    DONE = 4
    CANCEL = 5


class Frame(NamedTuple):
    """One message of a step. A tuple, because a frozen dataclass takes longer to make.

    `subject` is the graph handle in START, the number of the message in LEG, and the status code in
    DONE. If that code is 0, the values are the fetches; otherwise the only value is the error
    message as bytes. `values` are in the order of the message's edge table.
    """

    kind: Kind
    step: int
    subject: int
    values: Sequence[Array] = ()


class Link(Protocol):
    """An exclusive channel to one peer."""

    def send(self, frame: Frame) -> None:
        """Send a frame. The caller may overwrite the arrays when this returns.

        This cannot deadlock with a peer that sends at the same time.

        Raises:
            UnavailableError: the peer is gone, or the link was closed.
        """

    def recv(self, deadline: float | None = None) -> Frame:
        """Block until the next frame arrives, and return it.

        Its values may be views of the link's memory. They are valid until the link is closed or a
        frame arrives that is a START or has the same kind and subject.

        `deadline` is in seconds of `time.monotonic`; None waits for ever.

        Raises:
            DeadlineExceededError: nothing arrived in time; the link stays usable.
            UnavailableError: the peer is gone, or the link was closed (from any thread).
        """

    def pending(self) -> bool:
        """Return whether bytes of a frame were read already. If so, call `recv` before polling."""

    def is_quiet(self) -> bool:
        """Return whether the link is open and nothing has arrived that `recv` has not returned.

        No other thread may use the link meanwhile.
        """

    def fileno(self) -> int:
        """Return a descriptor that polls as readable when `recv` has data to read."""

    def close(self) -> None:
        """Close the link, from any thread; a blocked `send` or `recv` raises. Idempotent."""


class Dialer(Protocol):
    """Opens links to the tasks of a cluster."""

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> Link:
        """Open a link to `task` (`/job:ps/replica:0/task:0`); retry while it cannot be reached.

        Raises:
            UnavailableError: the task could not be reached before the deadline.
            AbortedError: the task has another incarnation, because it was restarted.
        """


class Links(Protocol):
    """Links to the tasks of a cluster, kept between steps. Thread-safe."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> Link:
        """Return an idle or new link to `task`, for this caller alone until it is given back.

        Raises as `Dialer.dial`.
        """

    def give_back(self, task: str, incarnation: int, link: Link) -> None:
        """Give back a link on which no frame can arrive any more."""

    def close(self) -> None:
        """Close every idle link, and every link that is given back later."""


def text(message: str) -> Array:
    """Return a string as a value of a frame."""
    return np.array(message.encode(), dtype=object)
