"""The parts of one step in flight that other tasks run."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from capstan import errors
from capstan.core import node
from capstan.core.arrays import Array
from capstan.partition import parts
from capstan.services import inbox, restarts
from capstan.transport import api

WITHDRAW_SECONDS = 0.5
"""How long a task may take to end its part of a step that its master ends early."""


def start_guard(cut: Callable[[], None]) -> threading.Timer:
    """Call `cut` when the tasks of a step have had the time to end their parts. Never blocks.

    If no thread can be started, this calls `cut` at once.
    """
    timer = threading.Timer(WITHDRAW_SECONDS, cut)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:
        cut()
    return timer


@dataclass(frozen=True, slots=True)
class Remote:
    """A part registered with another task."""

    task: str
    incarnation: int
    handle: int
    part: parts.Part


class RemoteParts:
    """The links to the tasks that run the remote parts of a step, for the thread of the step.

    Other threads may call `cancel` and `cut`.
    """

    def __init__(self, remotes: Sequence[Remote], pool: api.Links, number: int) -> None:
        self._remotes = remotes
        self._pool = pool
        self._number = number
        self._lock = threading.Lock()
        self.links: dict[str, api.Link] = {}
        """The link to each task. Only this class changes the dict."""
        self.waiting: set[str] = set()
        """The tasks that have a link and have not reported the end of their part."""

    def connect(self, deadline: float | None, patience_s: float, check: Callable[[], None]) -> None:
        """Take a link to each task. Call `check`, which may raise, after each link.

        Raises:
            DeadlineExceededError: a task, which may be slow, did not answer before the deadline of
                the step.
            UnavailableError: a task could not be reached, or did not answer within `patience_s`.
            AbortedError: a task was restarted, and has lost its part.
            OpError: as `api.Links.take`.
        """
        patience = time.monotonic() + patience_s
        limit = patience if deadline is None else min(patience, deadline)
        for remote in self._remotes:
            try:
                link = self._pool.take(remote.task, remote.incarnation, limit)
            except errors.AbortedError as restarted:
                raise restarts.graph_not_found(remote.handle, remote.task) from restarted
            except errors.DeadlineExceededError as late:
                inbox.require_before(deadline)
                raise errors.UnavailableError(None, None, late.message) from None
            self.waiting.add(remote.task)
            with self._lock:
                self.links[remote.task] = link
            check()

    def start(self, feeds: Mapping[node.Edge, Array]) -> None:
        """Start each part with its feeds."""
        for remote in self._remotes:
            values = [feeds[edge] for edge in remote.part.feeds]
            self.links[remote.task].send(
                api.Frame(api.Kind.START, self._number, remote.handle, values)
            )

    def part(self, task: str) -> parts.Part:
        """Return the part of a task."""
        (found,) = (remote.part for remote in self._remotes if remote.task == task)
        return found

    def cancel(self) -> None:
        """Ask the tasks to end their parts. Never blocks.

        If a frame cannot be sent to a task at once, that task is not asked.
        """
        self._offer(api.Kind.CANCEL)

    def undo(self) -> None:
        """Tell the tasks that the step has failed, so that they give back the elements that they
        took.

        Never blocks.
        """
        self._offer(api.Kind.UNDO)

    def cut(self) -> None:
        """Close the links. A thread that is blocked in `recv` or `send` gets an error."""
        with self._lock:
            for link in self.links.values():
                link.close()

    def release(self, *, is_cut_off: bool) -> None:
        """Give back the links on which nothing more can arrive. Close the other links.

        If `is_cut_off`, close all links. A later `cancel` or `cut` changes nothing, because other
        steps may use these links by then.
        """
        with self._lock:
            links, self.links = self.links, {}
        for remote in self._remotes:
            link = links.get(remote.task)
            if link is None:
                continue
            if remote.task in self.waiting or is_cut_off:
                link.close()
            else:
                self._pool.give_back(remote.task, remote.incarnation, link)

    def _offer(self, kind: api.Kind) -> None:
        with self._lock:
            for link in self.links.values():
                link.offer(api.Frame(kind, self._number, 0))
