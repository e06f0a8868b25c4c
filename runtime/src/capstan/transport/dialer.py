"""How a task opens links of the socket plane: ask over the control plane, then dial.

The host is the one that the ClusterSpec names, resolved anew each time: a task that was replaced
has a new address under its old name.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from capstan import errors
from capstan.transport import api, frames, interfaces, listener

_RETRY_S: Final = 0.1


class StreamDialer(api.Dialer):
    """`api.Dialer` for one task. Thread-safe."""

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        peers: Callable[[str], interfaces.ConnectApi],
        max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
    ) -> None:
        """Dial as `task`. `addresses` gives the `host:port` of every task, `peers` whom to ask."""
        self._task = task
        self._addresses = dict(addresses)
        self._peers = peers
        self._limit = max_message_bytes

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        """Open a link, as `api.Dialer.dial`; blocks until `deadline`, or for ever.

        Raises:
            UnavailableError: not reachable before the deadline.
            AbortedError: the task answers with another incarnation.
            UnimplementedError: the task has no socket plane.
        """
        pause = threading.Event()
        while True:
            try:
                return self._dial(task, incarnation, deadline)
            except (errors.UnavailableError, errors.DeadlineExceededError) as error:
                left = _RETRY_S if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise errors.UnavailableError(
                        None,
                        None,
                        f"{task} at {self._addresses[task]} cannot be reached: {error.message}",
                    ) from None
            pause.wait(min(left, _RETRY_S))

    def _dial(self, task: str, incarnation: int, deadline: float | None) -> api.Link:
        offer = self._peers(task).connect(self._task, incarnation, (listener.PLANE,), deadline)
        host = self._addresses[task].rpartition(":")[0].strip("[]")
        return listener.connect(host, offer, task, deadline, self._limit)
