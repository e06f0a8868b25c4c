"""Frees the parts of masters that are gone.

A master that is killed does not deregister its parts, and this task would keep the compiled parts
for ever. There are two cases. If the master's task was restarted, it answers with another
incarnation, and the old master never calls again. If the task does not answer, it may only be
stopped or cut off, so this task waits for `GONE_S`.

If a step of the master begins, the master is alive. Steps arrive over links that the master opened,
so they may arrive while this task cannot reach the master. If the master comes back after its parts
were freed, its next step raises AbortedError, and its client creates a new session.
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
"""Seconds without an answer and without a step after which a master counts as gone."""

UNLISTED_S: Final = 24 * 3600.0
"""`GONE_S` for a master that this task cannot ask, because its cluster does not list the master."""

_SWEEP_S: Final = 10.0


class Masters:
    """Watches the masters that have registered parts with one worker."""

    def __init__(self, home: worker.Worker, peers: Callable[[str], interfaces.WorkerApi]) -> None:
        """`home` is the worker. `peers` returns the worker service of a task by its name."""
        self._home = home
        self._peers = peers
        self._seen: dict[interfaces.Incarnation, float] = {}
        self._ended = threading.Event()

    def watch(self) -> None:
        """Start a thread that calls `sweep` every ten seconds until `close`. Returns at once."""

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
            incarnation, patience = self._ask(master.task)
            if self._home.take_called(master) or incarnation == master.number:
                self._seen[master] = now
            was_replaced = incarnation not in (None, master.number)
            if was_replaced or now - self._seen[master] >= patience:
                logging.getLogger("capstan").info(
                    "The parts of the master %s were removed: %s",
                    master.task,
                    "it was restarted" if was_replaced else "it neither answers nor runs steps",
                )
                self._home.forget(master)

    def _ask(self, task: str) -> tuple[int | None, float]:
        """Return the incarnation of a task, and for how many seconds the task may be silent.

        The incarnation is None if the task does not answer.
        """
        try:
            return self._peers(task).get_status().incarnation, GONE_S
        except errors.InvalidArgumentError:
            return None, UNLISTED_S
        except errors.OpError:
            return None, GONE_S
