"""Sessions whose clients are gone.

A client that dies sends no CloseSession. Every call for a session renews its lease; a session with
a call under way is kept. Otherwise it is closed when its client's connection has been gone for a
minute: the client died, or would have called again.

Quiet clients are another matter. After half an hour without a call gRPC itself hangs up (its
`client_idle_timeout`), and a notebook may be alive and come back next morning. A connection that
ends after so long says nothing, and its session is kept for a day, as where connections cannot be
seen (connections.py). Times are seconds of `time.monotonic`.
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

GONE_S: Final = 60.0
QUIET_S: Final = 25 * 60.0
IDLE_S: Final = 24 * 3600.0
_SWEEP_S: Final = 10.0

IsOpen = Callable[[str], bool | None]
"""Say whether a peer is still connected; None when nobody can know."""


@dataclass(slots=True)
class _Lease:
    """`called` is when the last call ended, `seen` when its connection was last known to stand."""

    peer: str
    calls: int
    called: float
    seen: float


class Leases:
    """The sessions that were created by calls. Thread-safe."""

    def __init__(self, close_session: Callable[[str], None]) -> None:
        """`close_session` ends a session by its handle."""
        self._close_session = close_session
        self._lock = threading.Lock()
        self._leases: dict[str, _Lease] = {}
        self._ended = threading.Event()

    def grant(self, handle: str, context: grpc.ServicerContext) -> None:
        """Note that the call of `context` created a session."""
        now = time.monotonic()
        with self._lock:
            self._leases[handle] = _Lease(context.peer(), 0, now, now)
        self.renew(handle, context)

    def renew(self, handle: str, context: grpc.ServicerContext) -> None:
        """Note that the call of `context` is for a session; it keeps it until it ends."""
        now = time.monotonic()
        with self._lock:
            lease = self._leases.get(handle)
            if lease is None:
                return
            lease.peer, lease.seen = context.peer(), now
            lease.calls += 1
        if not context.add_callback(lambda: self._call_ended(lease)):
            self._call_ended(lease)

    def forget(self, handle: str) -> None:
        """Note that a session was closed."""
        with self._lock:
            self._leases.pop(handle, None)

    def watch(self, is_open: IsOpen) -> None:
        """Close what expires, every ten seconds from now, until `close`."""

        def watch() -> None:
            while not self._ended.wait(_SWEEP_S):
                self.sweep(time.monotonic(), is_open)

        threading.Thread(target=watch, name="capstan-leases", daemon=True).start()

    def close(self) -> None:
        """Watch no more. Idempotent."""
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
                "Session %s was closed: its client at %s is gone", handle, lease.peer
            )
            with contextlib.suppress(errors.OpError):
                self._close_session(handle)

    def _call_ended(self, lease: _Lease) -> None:
        with self._lock:
            lease.calls -= 1
            lease.called = lease.seen = time.monotonic()


def has_expired(now: float, called: float, seen: float, connected: bool | None) -> bool:
    """Decide about a session without a call under way: when it was last called, when its connection
    was last known to stand, and whether it does now.
    """
    if connected:
        return False
    is_telling = connected is False and seen - called < QUIET_S
    return now - max(called, seen) >= (GONE_S if is_telling else IDLE_S)
