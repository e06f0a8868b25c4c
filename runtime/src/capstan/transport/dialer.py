"""Opens links to other tasks: asks the task over the control plane, then connects.

The host is the host of the task in the ClusterSpec. Its name is resolved for each link, because a
task that was replaced has a new address under its old name. If a task answers `Connect` but its
data port cannot be reached, a firewall probably passes only the control plane. The dialer then
opens the link over gRPC. The cause may also have been a busy network, so the dialer tries the port
again, at growing intervals.
"""

import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from capstan import errors
from capstan.transport import api, doors, frames, listener, sockets

_RETRY_S: Final = 0.1
# This is enough time for two SYNs. If a firewall drops both, time is left for the other plane.
_REACH_S: Final = 2.0
# If a data port could not be reached, it is not tried again for this long, and for twice as long
# after each further failure. Behind a firewall that drops packets, each try delays a step by
# `_REACH_S`. The values are guesses.
_BARRED_S: Final = 10.0
_LONGEST_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class _Bar:
    """How long, and until when, the data port of an incarnation of a task is not tried."""

    incarnation: int
    seconds: float
    until: float

    def holds(self, incarnation: int) -> bool:
        return self.incarnation == incarnation and time.monotonic() < self.until


class LinkDialer(api.Dialer):
    """`api.Dialer` for one task. Thread-safe."""

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        peers: Callable[[str], doors.ConnectApi],
        planes: Sequence[str] = listener.PLANES,
        max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
    ) -> None:
        """Open links on behalf of `task`, over one of `planes`, which are in order of preference.

        `addresses` gives the `host:port` of every task, and may get new tasks. `peers` returns the
        control plane of a task.
        """
        self._task = task
        self._addresses = addresses
        self._peers = peers
        self._planes = tuple(planes)
        self._limit = max_message_bytes
        self._lock = threading.Lock()
        self._bars: dict[str, _Bar] = {}
        self._detours: weakref.WeakSet[api.Link] = weakref.WeakSet()

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        """Open a link, as `api.Dialer.dial`. Without a deadline it may block for ever.

        Raises:
            UnavailableError: the task could not be reached before the deadline.
            DeadlineExceededError: the deadline passed, and no attempt had failed before.
            AbortedError: the task has another incarnation.
            UnimplementedError: the task offers none of our planes.
        """
        pause = threading.Event()
        why = ""
        kind: type[errors.OpError] = errors.DeadlineExceededError
        while True:
            try:
                return self._dial(task, incarnation, deadline)
            except errors.UnavailableError as error:
                why, kind = error.message, errors.UnavailableError
            except errors.DeadlineExceededError as error:
                # The deadline passed during an attempt. The error of an earlier attempt is more
                # useful.
                why = why or error.message
            left = _RETRY_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise kind(
                    None, None, f"{task} at {self._addresses[task]} cannot be reached: {why}"
                )
            pause.wait(min(left, _RETRY_S))

    def is_outdated(self, task: str, incarnation: int, link: api.Link) -> bool:
        """Return whether a link goes over gRPC, and the data port shall be tried again."""
        if not self._detours or link not in self._detours:
            return False
        return not self._is_barred(task, incarnation)

    def _is_barred(self, task: str, incarnation: int) -> bool:
        bar = self._bars.get(task)
        return bar is not None and bar.holds(incarnation)

    def _dial(self, task: str, incarnation: int, deadline: float | None) -> api.Link:
        """Try once to open a link."""
        peer = self._peers(task)
        barred = self._is_barred(task, incarnation)
        planes = (listener.GRPC,) if barred else self._planes
        offer = peer.connect(self._task, incarnation, planes, deadline)
        if offer.plane == listener.TCP:
            try:
                sock = self._reach(task, offer, deadline)
            except errors.UnavailableError as error:
                if listener.GRPC not in self._planes:
                    raise
                offer = peer.connect(self._task, incarnation, (listener.GRPC,), deadline)
                link = listener.greet(peer.open_tunnel(), offer, task, deadline, self._limit)
                self._bar(task, incarnation, error)
                self._detours.add(link)
                return link
        else:
            sock = peer.open_tunnel()
        link = listener.greet(sock, offer, task, deadline, self._limit)
        if barred:
            self._detours.add(link)
        elif self._bars and offer.plane == listener.TCP:
            self._bars.pop(task, None)
        return link

    def _reach(self, task: str, offer: doors.Offer, deadline: float | None) -> socket.socket:
        """Connect to the data port of a task."""
        host = self._addresses[task].rpartition(":")[0].strip("[]")
        left = _REACH_S if deadline is None else (deadline - time.monotonic()) / 2
        return sockets.dial(host, int(offer.address), min(left, _REACH_S))

    def _bar(self, task: str, incarnation: int, error: errors.OpError) -> None:
        """Record that the data port of a task cannot be reached, and warn the first time.

        Dials that fail at the same time count once.
        """
        with self._lock:
            last = self._bars.get(task)
            if last is not None and last.holds(incarnation):
                return
            is_known = last is not None and last.incarnation == incarnation
            seconds = _BARRED_S
            if last is not None and is_known:
                seconds = min(2 * last.seconds, _LONGEST_S)
            self._bars[task] = _Bar(incarnation, seconds, time.monotonic() + seconds)
        if not is_known:
            logging.getLogger("capstan").warning(
                "%s answers, but its data port does not: %s. Tensors travel over gRPC, which is "
                "slower; let the tasks connect to each other's ports",
                task,
                error.message,
            )
