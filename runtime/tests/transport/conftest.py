"""The data planes under test, links over these planes, and peers in other processes."""

import abc
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, Protocol

import pytest

from capstan.transport import api, doors, listener, sockets
from capstan.transport.grpc import remote_worker, server

PEER = pathlib.Path(__file__).with_name("peer.py")
SOURCES = pathlib.Path(__file__).parents[2] / "src"
INCARNATION = 41
PATIENCE_S = 200.0


class Peer:
    """The other end of a link, in its own process."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PEER), *arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
        )

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait(PATIENCE_S)

    def end(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)


class Plane(Protocol):
    """The methods of a data plane that the suite calls."""

    def pair(self) -> tuple[api.Link, api.Link]:
        """Return both ends of a new link, in this process."""

    def peer(self, behaviour: str) -> tuple[api.Link, Peer]:
        """Return a link to a process that answers each frame.

        With the behaviour `echo` it answers with a copy of the frame, with `flood` with 64 MiB.
        """

    def close(self) -> None:
        """Close all links, and end all peers."""


class _ListenerPlane(abc.ABC):
    """Links to a listener of this process. Subclasses say how to reach it."""

    name = ""
    host: str | None = None

    def __init__(self, max_message_bytes: int = 256 << 20) -> None:
        self._accepted: queue.Queue[api.Link] = queue.Queue()
        self._closing = threading.Event()
        self._limit = max_message_bytes
        self._peers: list[Peer] = []
        self._links: list[api.Link] = []
        self.listener = listener.Listener(self.host, INCARNATION, self._hold, max_message_bytes)

    def offer(self) -> doors.Offer:
        return self.listener.connect("/job:test", INCARNATION, (self.name,))

    @abc.abstractmethod
    def reach(self, offer: doors.Offer) -> socket.socket:
        """Return a socket that is connected to the listener."""

    @abc.abstractmethod
    def where(self, offer: doors.Offer) -> str:
        """Return the address to which a peer's process connects."""

    def pair(self) -> tuple[api.Link, api.Link]:
        offer = self.offer()
        near = listener.greet(self.reach(offer), offer, "far", max_message_bytes=self._limit)
        self._links.append(near)
        return near, self.accepted()

    def accepted(self) -> api.Link:
        """Return the listener's side of the next link that it accepts. Blocks."""
        return self._accepted.get(timeout=PATIENCE_S)

    def peer(self, behaviour: str) -> tuple[api.Link, Peer]:
        offer = self.offer()
        peer = Peer(self.name, self.where(offer), offer.token.hex(), behaviour)
        self._peers.append(peer)
        return self.accepted(), peer

    def close(self) -> None:
        self._closing.set()
        for link in self._links:
            link.close()
        self.listener.close()
        for peer in self._peers:
            peer.end()

    def _hold(self, link: api.Link, hello: listener.Hello) -> None:
        self._accepted.put(link)
        self._closing.wait()


class TcpPlane(_ListenerPlane):
    """The socket plane over loopback."""

    name = listener.TCP
    host = "127.0.0.1"

    def reach(self, offer: doors.Offer) -> socket.socket:
        return sockets.dial("127.0.0.1", int(offer.address), PATIENCE_S)

    def where(self, offer: doors.Offer) -> str:
        return offer.address


class GrpcPlane(_ListenerPlane):
    """The stream plane, which has no port except the port of the control plane."""

    name = listener.GRPC

    def __init__(self, max_message_bytes: int = 256 << 20) -> None:
        super().__init__(max_message_bytes)
        no_service: Any = types.SimpleNamespace(close_session=None)
        self._control = server.ControlServer(
            "127.0.0.1", 0, no_service, no_service, self.listener, bytes, 1 << 29
        )
        self._control.start()
        self._worker = remote_worker.GrpcWorker(self.where(self.offer()))

    def reach(self, offer: doors.Offer) -> socket.socket:
        return self._worker.open_tunnel()

    def where(self, offer: doors.Offer) -> str:
        return f"127.0.0.1:{self._control.port}"

    def close(self) -> None:
        super().close()
        self._worker.close()
        self._control.stop()


PLANES: dict[str, Callable[[], Plane]] = {"tcp": TcpPlane, "grpc": GrpcPlane}


@pytest.fixture(params=sorted(PLANES))
def plane(request: pytest.FixtureRequest) -> Iterator[Plane]:
    made = PLANES[request.param]()
    yield made
    made.close()


@pytest.fixture
def tcp() -> Iterator[TcpPlane]:
    made = TcpPlane()
    yield made
    made.close()


@pytest.fixture
def aside() -> Iterator[futures.Executor]:
    """Threads for blocking calls. Closing the plane ends the calls that still block."""
    threads = futures.ThreadPoolExecutor(4)
    yield threads
    threads.shutdown(wait=False)


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits for a condition, and fails if it does not become true."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, "the condition did not become true"
            pause.wait(0.005)

    return wait
