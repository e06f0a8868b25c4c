"""Opens links to other tasks: asks the task over the control plane, then connects.

The host is the host of the task in the ClusterSpec. Its name is resolved for each link, because a
task that was replaced has a new address under its old name. If a task answers `Connect` but its
data port cannot be reached, a firewall probably passes only the control plane. The dialer then
opens the link over gRPC.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from capstan import errors
from capstan.transport import api, frames, interfaces, listener, sockets

_RETRY_S: Final = 0.1
# This is enough time for two SYNs. If a firewall drops both, time is left for the other plane.
_REACH_S: Final = 2.0
# If a data port could not be reached, it is not tried again for this long. Firewall rules change
# rarely. The value is a guess.
_BARRED_S: Final = 60.0


class LinkDialer(api.Dialer):
    """`api.Dialer` for one task. Thread-safe."""

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        peers: Callable[[str], interfaces.ConnectApi],
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
        self._barred: dict[tuple[str, int], float] = {}

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

    def _dial(self, task: str, incarnation: int, deadline: float | None) -> api.Link:
        """Try once to open a link."""
        peer = self._peers(task)
        barred = self._barred.get((task, incarnation), 0.0) > time.monotonic()
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
                return link
        else:
            sock = peer.open_tunnel()
        return listener.greet(sock, offer, task, deadline, self._limit)

    def _reach(self, task: str, offer: interfaces.Offer, deadline: float | None) -> socket.socket:
        """Connect to the data port of a task."""
        host = self._addresses[task].rpartition(":")[0].strip("[]")
        left = _REACH_S if deadline is None else (deadline - time.monotonic()) / 2
        return sockets.dial(host, int(offer.address), min(left, _REACH_S))

    def _bar(self, task: str, incarnation: int, error: errors.OpError) -> None:
        """Record that the data port of a task cannot be reached, and warn the first time."""
        if (task, incarnation) not in self._barred:
            logging.getLogger("capstan").warning(
                "%s answers, but its data port does not: %s. Tensors travel over gRPC, which is "
                "slower; let the tasks connect to each other's ports",
                task,
                error.message,
            )
        self._barred[task, incarnation] = time.monotonic() + _BARRED_S
