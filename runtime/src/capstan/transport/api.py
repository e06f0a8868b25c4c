"""The interface of the data plane, which carries the tensors of steps.

A `Frame` carries the values of one message between two tasks. A `Link` is an ordered, two-way
channel of frames. It serves one step at a time.

For each remote task of a step, the master takes one link from a pool. The thread that runs the step
reads the links. When a task has ended its part of the step, the thread gives its link back to the
pool. If the step fails, the thread closes the other links, and their tasks end their parts.

There are two data planes: `tcp` (stream.py) and `grpc` (grpc/tunnel.py). Both pass the same
conformance suite.
"""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


class Kind(enum.IntEnum):
    """The kind of a frame.

    HELLO opens a link. START starts the part of a step on a task. LEG carries a
    `partition.parts.Message` of the step. DONE reports the end of a part. CANCEL asks a task to end
    its part. The task answers a CANCEL with a DONE, which may report success. It sends no second
    DONE if the part had ended before. UNDO tells a task that the step has failed. The task ends its
    part. If the part has succeeded, the task gives back the elements that the part took, unless a
    segment has read them. An UNDO has no answer.

    RECV_BUF asks for a tensor of a collective operation. The answer is a BUF, as soon as the peer
    has the tensor. These two frames have the fields of RecvBuf in TensorFlow's worker.proto, and
    belong to no part of a step.
    """

    HELLO = 1
    START = 2
    LEG = 3
    DONE = 4
    CANCEL = 5
    UNDO = 6
    RECV_BUF = 7
    BUF = 8


class Frame(NamedTuple):
    """One frame of the data plane. A tuple takes less time to make than a frozen dataclass.

    In START, `subject` is the handle of the registered part, and the values are its feeds. In LEG,
    `subject` is the number of a `partition.parts.Message`, and the values are those of the message.
    In DONE, `subject` is a status code. If the code is 0, the values are the fetches of the part.
    Otherwise the only value is the error message as bytes. In RECV_BUF, `step` is the number that
    the leader gave to the steps, and the only value is the name of the tensor as bytes. In BUF,
    `subject` is a status code, and the only value is the tensor or the error message.
    """

    kind: Kind
    step: int
    subject: int
    values: Sequence[Array] = ()


class Link(Protocol):
    """An exclusive channel to one peer."""

    def send(self, frame: Frame) -> None:
        """Send a frame. The caller may overwrite the arrays when the call returns.

        The call cannot deadlock with a peer that sends at the same time.

        Raises:
            UnavailableError: the peer is gone, or the link was closed.
        """

    def offer(self, frame: Frame) -> bool:
        """Send a frame without values if this takes no time. Return whether the frame was sent.

        The frame is not sent if another thread is in `send`, if the peer does not read, or if the
        link is closed. Never blocks and never raises.
        """

    def recv(self, deadline: float | None = None) -> Frame:
        """Block until the next frame arrives, and return it.

        The values of the frame may be views of the link's memory. They are valid until the link is
        closed, or until a START or a frame of the same kind and subject arrives.

        `deadline` is in seconds of `time.monotonic`. If it is None, the call waits for ever.

        Raises:
            DeadlineExceededError: nothing arrived in time. The link stays usable.
            UnavailableError: the peer is gone, or the link was closed (from any thread).
        """

    def pending(self) -> bool:
        """Return whether the link has read bytes of a frame that `recv` has not returned.

        If so, call `recv` before you poll `fileno`.
        """

    def is_quiet(self) -> bool:
        """Return whether the link is open and `recv` has returned everything that arrived.

        No other thread may use the link meanwhile.
        """

    def has_ended(self) -> bool:
        """Return whether the peer has closed the link, and `recv` has taken all its bytes.

        Any thread may call this.
        """

    def fileno(self) -> int:
        """Return a descriptor that polls as readable when `recv` has data to read."""

    def close(self) -> None:
        """Close the link, from any thread. A blocked `send` or `recv` raises. Idempotent."""


class Dialer(Protocol):
    """Opens links to the tasks of a cluster."""

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> Link:
        """Open a link to `task`, for example to `/job:ps/replica:0/task:0`.

        Retries while the task cannot be reached.

        Raises:
            UnavailableError: the task could not be reached before the deadline.
            DeadlineExceededError: the deadline passed, and no attempt had failed before. The task
                may be slow.
            AbortedError: the task has another incarnation, because it was restarted.
        """

    def is_outdated(self, task: str, incarnation: int, link: Link) -> bool:
        """Return whether `dial` might now open a faster link than `link`, which it has opened."""


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
