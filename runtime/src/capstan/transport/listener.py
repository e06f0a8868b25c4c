"""The start of a link. `Listener` accepts the link. The dialler, which opens it, calls `greet`.

Connections arrive over two planes. The plane `tcp` is a port of the task. The plane `grpc` is a
stream inside the control plane, for peers that cannot reach the port. The dialler gets a token from
`Connect` on the control plane. The token is valid for one connection. The dialler sends the token
in the first frame (HELLO), and the listener answers with a HELLO. The dialler then knows that the
link was accepted.
"""

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from capstan import errors
from capstan.transport import api, doors, frames, sockets, stream

TCP: Final = "tcp"
GRPC: Final = "grpc"
PLANES: Final = (TCP, GRPC)
"""The names of the planes in `Connect`, in order of preference."""

_HELLO_S: Final = 10.0
# A peer without a token must not make us allocate memory.
_HELLO_BYTES: Final = 256
_TOKEN_BYTES: Final = 32
_RETRY_S: Final = 0.01
# The most tokens that are issued and unused. Beyond this the oldest is dropped: its dialler has
# probably died.
_MAX_TOKENS: Final = 1024


@dataclass(frozen=True, slots=True)
class Hello:
    """The peer of an accepted link. `task` is the name that the peer gave to `Connect`."""

    task: str


Handle = Callable[[api.Link, Hello], None]


class Listener:
    """Accepts the links of one task. Thread-safe."""

    def __init__(
        self,
        host: str | None,
        incarnation: int,
        handle: Handle,
        max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
    ) -> None:
        """Listen on a port of `host` that the system chooses, and serve until `close`.

        If `host` is None, there is no port, and links arrive only through `admit`. `handle` is
        called for every link in a new daemon thread, and the link is closed when `handle` returns.
        When the link ends, `handle` may raise UnavailableError.

        Raises:
            UnavailableError: `host` has no address on this machine.
        """
        self._incarnation = incarnation
        self._handle = handle
        self._limit = max_message_bytes
        self._lock = threading.Lock()
        self._tokens: dict[bytes, Hello] = {}
        self._links: dict[stream.StreamLink, Hello] = {}
        self._ended = threading.Event()
        self._port = None if host is None else _Port(host, self.admit)

    def connect(self, task: str, incarnation: int, planes: Sequence[str]) -> doors.Offer:
        """Answer `Connect`: return the plane, the port and the token for a link of `task`.

        Raises:
            AbortedError: `task` expects another incarnation of this task.
            UnimplementedError: `planes` has none of our planes.
            UnavailableError: the listener is closed.
        """
        if incarnation != self._incarnation:
            raise errors.AbortedError(
                None,
                None,
                f"{task} expects incarnation {incarnation} of this task, but this is incarnation "
                f"{self._incarnation}: the task was restarted. Create a new session",
            )
        ours = PLANES if self._port is not None else (GRPC,)
        plane = next((name for name in ours if name in planes), None)
        if plane is None:
            raise errors.UnimplementedError(
                None,
                None,
                f"{task} offers {', '.join(planes) or 'nothing'}, "
                f"but this task offers {', '.join(ours)}",
            )
        token = secrets.token_bytes(_TOKEN_BYTES)
        with self._lock:
            if self._ended.is_set():
                raise errors.UnavailableError(None, None, "This task is shutting down")
            while len(self._tokens) >= _MAX_TOKENS:
                del self._tokens[next(iter(self._tokens))]
            self._tokens[token] = Hello(task)
        address = "" if plane == GRPC or self._port is None else str(self._port.number)
        return doors.Offer(plane, address, token)

    def admit(self, sock: socket.socket) -> None:
        """Take over a connection whose peer has not sent a token yet. Returns at once."""
        threading.Thread(target=self._serve, args=(sock,), name="capstan-link", daemon=True).start()

    def drop(self, task: str) -> None:
        """Close the links of `task`, and forget its tokens. Does not wait for handlers."""
        with self._lock:
            self._tokens = {
                token: hello for token, hello in self._tokens.items() if hello.task != task
            }
            links = [link for link, hello in self._links.items() if hello.task == task]
        for link in links:
            link.close()

    def close(self) -> None:
        """Stop listening and close every link. Does not wait for handlers. Idempotent."""
        with self._lock:
            self._ended.set()
            self._tokens.clear()
            links = tuple(self._links)
        if self._port is not None:
            self._port.close()
        for link in links:
            link.close()

    def _serve(self, sock: socket.socket) -> None:
        admitted = self._admit(sock)
        if admitted is None:
            sock.close()
            return
        link, hello = admitted
        try:
            link.send(api.Frame(api.Kind.HELLO, 0, 0))
            self._handle(link, hello)
        except errors.UnavailableError:
            pass
        finally:
            link.close()
            with self._lock:
                self._links.pop(link, None)

    def _admit(self, sock: socket.socket) -> tuple[stream.StreamLink, Hello] | None:
        """Read the token of a connection. Return the link and its peer.

        Return None if the token is unknown or the peer sends anything else.
        """
        try:
            door = stream.StreamLink(sock, "a dialler", _HELLO_BYTES)
            frame = door.recv(time.monotonic() + _HELLO_S)
            if frame.kind is not api.Kind.HELLO or len(frame.values) != 1 or door.pending():
                return None
            with self._lock:
                hello = self._tokens.pop(frame.values[0].tobytes(), None)
                if hello is None or self._ended.is_set():
                    return None
                link = stream.StreamLink(sock, hello.task, self._limit)
                self._links[link] = hello
                return link, hello
        except (errors.OpError, OSError):
            return None


class _Port:
    """A listening socket and the thread that accepts its connections."""

    def __init__(self, host: str, admit: Callable[[socket.socket], None]) -> None:
        self._admit = admit
        self._ended = threading.Event()
        self._socket = sockets.listen(host)
        self._address: tuple[str, int] = self._socket.getsockname()[:2]
        self.number = self._address[1]
        self._thread = threading.Thread(target=self._accept, name="capstan-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Release the port. Idempotent."""
        self._ended.set()
        with contextlib.suppress(OSError):  # wakes `accept`; fails if the port is closed already
            socket.create_connection(self._address, timeout=_HELLO_S).close()
        self._thread.join()

    def _accept(self) -> None:
        with self._socket:
            while not self._ended.is_set():
                try:
                    sock, _ = self._socket.accept()
                except OSError:
                    # The dialler is gone already, or this process has no descriptor left.
                    # Try again, because links that end release their descriptors.
                    self._ended.wait(_RETRY_S)
                    continue
                if self._ended.is_set():
                    sock.close()
                    return
                self._admit(sock)


def greet(
    sock: socket.socket,
    offer: doors.Offer,
    task: str,
    deadline: float | None = None,
    max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
) -> stream.StreamLink:
    """Send the token of `offer` over `sock`. Return the link, which owns `sock`.

    Raises:
        UnavailableError: the peer did not accept the link within ten seconds.
        DeadlineExceededError: `deadline` passed before.
    """
    latest = time.monotonic() + _HELLO_S
    limit = latest if deadline is None else min(deadline, latest)
    try:
        link = stream.StreamLink(sock, task, max_message_bytes)
        link.send(api.Frame(api.Kind.HELLO, 0, 0, (np.frombuffer(offer.token, np.uint8),)))
        link.recv(limit)
    except (errors.OpError, OSError) as error:
        sock.close()
        where = f" at port {offer.address}" if offer.address else ""
        is_late = isinstance(error, errors.DeadlineExceededError) and limit == deadline
        kind = errors.DeadlineExceededError if is_late else errors.UnavailableError
        raise kind(None, None, f"{task}{where} did not accept the link: {error}") from None
    return link
