"""Closes sessions whose clients are gone.

A client that dies sends no CloseSession. Every call for a session renews the lease of the session.
A session with a call in progress is kept. Any other session is closed when its client's connection
has been closed for a minute, because a live client would have called again.

A quiet client is a different case. After half an hour without a call gRPC itself closes the
connection (its `client_idle_timeout`), while a notebook may still be alive and call again the next
morning. If a connection closes after so long, the client may therefore be alive, and the session is
kept for a day. The same holds if the state of connections is unknown (connections.py), and after a
large request, whose own connection says nothing (intake.py). Times are seconds of
`time.monotonic`.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import grpc

from capstan import errors
from capstan.transport.grpc import intake

GONE_S: Final = 60.0
QUIET_S: Final = 25 * 60.0
IDLE_S: Final = 24 * 3600.0
_SWEEP_S: Final = 10.0

IsOpen = Callable[[str], bool | None]
"""Takes a peer. Returns whether the peer is still connected, or None if the state is unknown."""


@dataclass(slots=True)
class _Lease:
    """The lease of one session, and the number of its calls in progress.

    `called` is the end of the last call. `seen` is the last time at which the connection of `peer`
    was seen open.
    """

    peer: str
    calls: int
    called: float
    seen: float


class Leases:
    """The leases of the sessions that clients created over gRPC. Thread-safe."""

    def __init__(self, close_session: Callable[[str], None]) -> None:
        """`close_session` closes the session of a handle."""
        self._close_session = close_session
        self._lock = threading.Lock()
        self._leases: dict[str, _Lease] = {}
        self._ended = threading.Event()

    def grant(self, handle: str, context: grpc.ServicerContext) -> None:
        """Record that the call of `context` created a session."""
        now = time.monotonic()
        with self._lock:
            self._leases[handle] = _Lease("", 0, now, now)
        self.renew(handle, context)

    def renew(self, handle: str, context: grpc.ServicerContext) -> None:
        """Record that the call of `context` is for a session.

        The session is kept until the call ends.
        """
        now = time.monotonic()
        with self._lock:
            lease = self._leases.get(handle)
            if lease is None:
                return
            lease.peer, lease.seen = intake.lasting_peer(context), now
            lease.calls += 1
        if not context.add_callback(lambda: self._call_ended(lease)):
            self._call_ended(lease)

    def forget(self, handle: str) -> None:
        """Remove the lease of a closed session."""
        with self._lock:
            self._leases.pop(handle, None)

    def handles(self) -> tuple[str, ...]:
        """Return the sessions that have a lease."""
        with self._lock:
            return tuple(self._leases)

    def watch(self, is_open: IsOpen) -> None:
        """Start a thread that calls `sweep` every ten seconds until `close`. Returns at once."""

        def watch() -> None:
            while not self._ended.wait(_SWEEP_S):
                self.sweep(time.monotonic(), is_open)

        threading.Thread(target=watch, name="capstan-leases", daemon=True).start()

    def close(self) -> None:
        """Stop the thread of `watch`. Idempotent."""
        self._ended.set()

    def sweep(self, now: float, is_open: IsOpen) -> None:
        """Close the sessions that have expired by `now`."""
        with self._lock:
            idle = [(handle, lease) for handle, lease in self._leases.items() if not lease.calls]
        for handle, lease in idle:
            state = is_open(lease.peer)
            if state:
                lease.seen = now
            if not has_expired(now, lease.called, lease.seen, state):
                continue
            self.forget(handle)
            logging.getLogger("capstan").info(
                "Session %s was closed: its client at %s is gone", handle, lease.peer or "?"
            )
            with contextlib.suppress(errors.OpError):
                self._close_session(handle)

    def _call_ended(self, lease: _Lease) -> None:
        with self._lock:
            lease.calls -= 1
            lease.called = lease.seen = time.monotonic()


def has_expired(now: float, called: float, seen: float, connected: bool | None) -> bool:
    """Return whether a session without a call in progress has expired at `now`.

    `called` is the end of the session's last call. `seen` is the last time at which the client's
    connection was open. `connected` says whether the connection is open now. It is None if the
    state is unknown.
    """
    if connected:
        return False
    proves_death = connected is False and seen - called < QUIET_S
    return now - max(called, seen) >= (GONE_S if proves_death else IDLE_S)
