"""Frees the parts of masters that are gone.

A master that is killed does not deregister its parts, and this task would keep the compiled parts
for ever. There are two cases. If the master's task was restarted, it answers with another
incarnation, and the old master never calls again. If the task does not answer, it may only be
stopped or cut off, so this task waits for `GONE_S`. If the master comes back after that, its next
step raises AbortedError and its client creates a new session.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from capstan import errors
from capstan.services import worker
from capstan.transport import interfaces

GONE_S: Final = 600.0
"""Seconds without an answer after which a master counts as gone."""

_SWEEP_S: Final = 10.0


class Masters:
    """Watches the masters that have registered parts with one worker."""

    def __init__(self, home: worker.Worker, peers: Callable[[str], interfaces.WorkerApi]) -> None:
        """`home` is the worker; `peers` returns the worker service of a task by its name."""
        self._home = home
        self._peers = peers
        self._seen: dict[interfaces.Incarnation, float] = {}
        self._ended = threading.Event()

    def watch(self) -> None:
        """Start a thread that sweeps every ten seconds until `close`. Returns at once."""

        def watch() -> None:
            while not self._ended.wait(_SWEEP_S):
                self.sweep(time.monotonic())

        threading.Thread(target=watch, name="capstan-masters", daemon=True).start()

    def close(self) -> None:
        """Stop the thread of `watch`. Idempotent."""
        self._ended.set()

    def sweep(self, now: float) -> None:
        """Forget the masters that are gone at `now`, in seconds of `time.monotonic`.

        Asks the task of every master, and blocks up to two seconds for each. Not thread-safe.
        """
        known = self._home.masters()
        self._seen = {master: self._seen.get(master, now) for master in known}
        for master in known:
            incarnation = self._incarnation_of(master.task)
            if incarnation == master.number:
                self._seen[master] = now
            elif incarnation is not None or now - self._seen[master] >= GONE_S:
                logging.getLogger("capstan").info(
                    "The parts of the master %s were removed: %s",
                    master.task,
                    "it does not answer" if incarnation is None else "it was restarted",
                )
                self._home.forget(master)

    def _incarnation_of(self, task: str) -> int | None:
        try:
            return self._peers(task).get_status().incarnation
        except errors.OpError:
            return None
