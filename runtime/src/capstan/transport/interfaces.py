"""What a master and a worker answer, free of gRPC.

TensorFlow's cut: master_interface.h, worker_interface.h.

`transport.grpc` speaks these over the network; `services.master` and `services.worker` implement
them.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from capstan.core import config, node
from capstan.partition import parts
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a task, as `Session.list_devices` shows it."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """Who a worker is. A restart of the task changes `incarnation`, never 0."""

    incarnation: int
    devices: tuple[Device, ...]
    protocol_version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A task from one start to its end: `number` is `WorkerStatus.incarnation`."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Per-step options: `timeout_ms` 0 means the session's own limit."""

    timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer to `connect`: how to open one link of `plane`.

    `address` is what the plane needs beside the host that the ClusterSpec names: the port of `tcp`,
    nothing for `grpc`.
    """

    plane: str
    address: str
    token: bytes


class ConnectApi(Protocol):
    """How a task opens a link to another one. Thread-safe."""

    def connect(
        self, task: str, incarnation: int, planes: Sequence[str], deadline: float | None = None
    ) -> Offer:
        """Ask a task for a way in: `task` is who asks, `incarnation` whom it expects.

        `deadline` is in seconds of `time.monotonic`.

        Raises:
            UnavailableError, DeadlineExceededError: it does not answer.
            AbortedError: it is another incarnation.
            UnimplementedError: it has none of the `planes`.
        """

    def open_tunnel(self) -> socket.socket:
        """Return a socket that leads to the task through the control plane, for the plane `grpc`.

        Waits for nothing: where nobody answers, the socket ends.
        """


class Door(Protocol):
    """Where the links of a task come in. Thread-safe; nothing blocks."""

    def connect(self, task: str, incarnation: int, planes: Sequence[str]) -> Offer:
        """Answer `ConnectApi.connect`; raises as that."""

    def admit(self, sock: socket.socket) -> None:
        """Take over what leads to somebody who has yet to show the token of an offer."""


class MasterApi(Protocol):
    """Sessions over a cluster. Thread-safe; `run_step` and `create_session` block."""

    def create_session(
        self,
        nodes: Sequence[node.Node],
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
    ) -> str:
        """Open a session; returns its handle. Waits until every task of the cluster answers.

        Raises:
            CancelledError: `cancellation` ended the wait.
        """

    def extend_session(self, handle: str, nodes: Sequence[node.Node], version: int) -> int:
        """Add all `nodes` to a session at graph `version`, or none; returns the new version.

        Raises:
            AbortedError: the session does not exist, or is at another version.
            InvalidArgumentError: the session has a node of that name already.
        """

    def run_step(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: StepOptions,
    ) -> list[Array]:
        """Run what `fetches` (`node:index`) and `targets` (`node`) need; returns copies."""

    def make_callable(
        self,
        handle: str,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: StepOptions,
    ) -> int:
        """Remember what a step names; returns a handle of it, good for this session.

        Raises:
            NotFoundError, InvalidArgumentError: the graph has nothing of that name.
        """

    def run_callable(
        self, handle: str, callable_handle: int, feeds: Sequence[Array]
    ) -> list[Array]:
        """Run a step that was remembered, its feeds in order; returns copies of its fetches."""

    def release_callable(self, handle: str, callable_handle: int) -> None:
        """Forget a step that was remembered, if there is one of this handle."""

    def partial_run_setup(
        self, handle: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Begin a step that is fed and fetched in portions; returns its handle."""

    def partial_run(
        self,
        handle: str,
        partial_run_handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        options: StepOptions,
    ) -> list[Array]:
        """Feed a portion, run what waits for nothing more, and return copies of `fetches`.

        Raises:
            InvalidArgumentError: a feed or fetch that was not announced or comes again, a fetch
                that waits for a feed, or no such partial run.
        """

    def close_session(self, handle: str) -> None:
        """End a session; steps in flight raise CancelledError."""

    def reset(self, containers: Sequence[str]) -> None:
        """Close every session of this master and clear the containers on all tasks."""

    def list_devices(self, handle: str) -> tuple[Device, ...]:
        """The devices that the session may use."""


class WorkerApi(Protocol):
    """What a master asks of a task outside steps. Thread-safe; every call is one round trip."""

    def get_status(self) -> WorkerStatus:
        """Say who answers."""

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: Incarnation | None = None,
        deadline: float | None = None,
    ) -> int:
        """Compile a part for later steps; returns its handle, unique in this incarnation.

        The part is given up when `master`, whose session it is, is gone. `deadline` is in seconds
        of `time.monotonic`; None waits however long it takes.
        """

    def deregister_graph(self, session: str) -> None:
        """Forget all that a session registered."""

    def cleanup_all(self, containers: Sequence[str]) -> None:
        """Clear containers (none named: the default one)."""
