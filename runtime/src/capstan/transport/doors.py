"""The interface by which a task opens links to another task.

The control plane carries the calls of `ConnectApi` to the `Door` of the other task. The links
themselves belong to the data plane (`api`).
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer to `connect`: how to open one link over `plane`.

    `address` is the port for `tcp` and empty for `grpc`. The host is the host of the task in the
    ClusterSpec.
    """

    plane: str
    address: str
    token: bytes


class ConnectApi(Protocol):
    """The calls by which a task opens a link to another task. Thread-safe."""

    def connect(
        self, task: str, incarnation: int, planes: Sequence[str], deadline: float | None = None
    ) -> Offer:
        """Ask another task for an offer to open a link.

        `task` is the name of the caller's task. `incarnation` is the incarnation that the caller
        expects the other task to have. `deadline` is in seconds of `time.monotonic`.

        Raises:
            UnavailableError, DeadlineExceededError: the other task does not answer.
            AbortedError: the other task has another incarnation.
            UnimplementedError: the other task offers none of the `planes`.
        """

    def open_tunnel(self) -> socket.socket:
        """Return a socket whose bytes the control plane carries to the task (the plane `grpc`).

        Does not block. If the task cannot be reached, the socket closes.
        """


class Door(Protocol):
    """Accepts the links of a task. Thread-safe. No method blocks."""

    def connect(self, task: str, incarnation: int, planes: Sequence[str]) -> Offer:
        """Answer `ConnectApi.connect`. Raises as `ConnectApi.connect`."""

    def admit(self, sock: socket.socket) -> None:
        """Take over a connection whose peer has not sent the token of an offer yet."""

    def drop(self, task: str) -> None:
        """Close the links of `task`, and forget its offers."""
