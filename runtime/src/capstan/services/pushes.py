"""Sends the messages of a step to third tasks.

A third task of a step is a task other than this task and the task of the step's master. Such a
message goes over a link that this task takes from its pool for one message.
"""

import logging
import threading
import time
from collections.abc import Callable

from capstan import errors
from capstan.transport import api, interfaces

Peers = Callable[[str], interfaces.WorkerApi]
"""Takes the name of a task. Returns the client of its worker."""

_SECONDS = 10.0
"""How long a message waits until its task can be reached."""

_RETRY_SECONDS = 0.1


class Pushes:
    """The messages of this task for third tasks. Thread-safe."""

    def __init__(self, links: api.Links, peers: Peers, is_over: Callable[[int], bool]) -> None:
        """`is_over(step)` returns whether the part of the step on this task has ended."""
        self._links = links
        self._peers = peers
        self._is_over = is_over
        self._incarnations: dict[str, int] = {}

    def send(self, task: str, frame: api.Frame) -> None:
        """Send a message to a third task, even if that task was restarted. Blocks.

        If the third task was restarted during the step, the master of the step detects this.

        Raises:
            UnavailableError, AbortedError: the task could not be reached before the deadline, or
                before the step ended.
        """
        try:
            incarnation, link = self._link_to(task, frame.step, time.monotonic() + _SECONDS)
        except errors.DeadlineExceededError as late:  # The deadline is not that of the step.
            raise errors.UnavailableError(None, None, late.message) from None
        try:
            link.send(frame)
        except BaseException:
            link.close()
            raise
        self._links.give_back(task, incarnation, link)

    def _link_to(self, task: str, step: int, deadline: float) -> tuple[int, api.Link]:
        """Return the incarnation of `task` that serves a link, and this link.

        A task that does not answer, or was just restarted, is asked until `deadline`, or until the
        step ends.
        """
        pause = threading.Event()
        while True:
            try:
                return self._try_link(task, deadline)
            except (
                errors.UnavailableError,
                errors.DeadlineExceededError,
                errors.AbortedError,
            ):
                if time.monotonic() >= deadline or self._is_over(step):
                    raise
            pause.wait(_RETRY_SECONDS)

    def _try_link(self, task: str, deadline: float) -> tuple[int, api.Link]:
        """Ask `task` once for its incarnation, unless it is known, and open a link to it."""
        known = self._incarnations.get(task)
        if known is not None:
            try:
                return known, self._links.take(task, known, deadline)
            except errors.AbortedError:
                logging.getLogger("capstan").info("%s was restarted", task)
        incarnation = self._peers(task).get_status().incarnation
        self._incarnations[task] = incarnation
        return incarnation, self._links.take(task, incarnation, deadline)
