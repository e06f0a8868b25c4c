"""Masters that are gone: what they registered with a task is given up.

A master that is killed deregisters nothing, and what this task compiled for its sessions would stay
for ever. A task that was replaced under the same name answers as another incarnation: its
predecessor will never call again. A task that does not answer may be stopped, or cut off, and come
back, so it is waited for; if it comes back later still, its next step is an AbortedError and it
makes a new session.
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
"""How long a master may be silent before it counts as gone."""

_SWEEP_S: Final = 10.0


class Masters:
    """Watches the masters that have registered parts with one worker."""

    def __init__(self, home: worker.Worker, peers: Callable[[str], interfaces.WorkerApi]) -> None:
        """`peers` gives the worker of a task, which is asked whether its master still lives."""
        self._home = home
        self._peers = peers
        self._seen: dict[interfaces.Incarnation, float] = {}
        self._ended = threading.Event()

    def watch(self) -> None:
        """Sweep every ten seconds from now, in a thread of its own, until `close`."""

        def watch() -> None:
            while not self._ended.wait(_SWEEP_S):
                self.sweep(time.monotonic())

        threading.Thread(target=watch, name="capstan-masters", daemon=True).start()

    def close(self) -> None:
        """Watch no more. Idempotent."""
        self._ended.set()

    def sweep(self, now: float) -> None:
        """Forget the masters that are gone at `now`, in seconds of `time.monotonic`.

        Asks every master's task; blocks for up to two seconds a task. For one thread at a time.
        """
        known = self._home.masters()
        self._seen = {master: self._seen.get(master, now) for master in known}
        for master in known:
            answered = self._answer(master.task)
            if answered == master.number:
                self._seen[master] = now
            elif answered is not None or now - self._seen[master] >= GONE_S:
                logging.getLogger("capstan").info(
                    "The sessions of %s were given up: %s",
                    master.task,
                    "it does not answer" if answered is None else "it was restarted",
                )
                self._home.forget(master)

    def _answer(self, task: str) -> int | None:
        try:
            return self._peers(task).get_status().incarnation
        except errors.OpError:
            return None
