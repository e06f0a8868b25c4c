"""One run of a step that uses links, waits or loops.

The caller's thread starts the remote parts, runs the part of its own task, reads the links, and
copies the fetches. If a node of its own task waits, for example a dequeue, then the thread that
ends the wait hands the rest of the step to the caller's thread. Only a loop of a step that also
uses links has a thread of its own, so that the loss of another task ends the loop.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import node
from capstan.executor import program, run
from capstan.partition import parts
from capstan.services import inbox
from capstan.transport import api

Array = np.ndarray[Any, Any]
Feeds = Mapping[node.Edge, Array]

RECONNECT_SECONDS = 10.0
"""How long a step waits for a task that does not answer before it raises UnavailableError."""

_WITHDRAW_SECONDS = 0.5
"""How long a task may take to end its part of a step whose deadline has passed."""

_INTERRUPT_SECONDS = 1.0
"""How long an interrupted step waits for the segments that other threads run."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A part registered with another task."""

    task: str
    incarnation: int
    handle: int
    part: parts.Part


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """The result of compiling a signature: a local program, remote parts, or both.

    `copies` maps each fetch that is in the memory of a device to the copy that is fetched instead.
    """

    local: program.Program | None
    remotes: tuple[Remote, ...]
    copies: Mapping[node.Edge, node.Edge] = field(default_factory=dict)


class StepRun:
    """One run of a step. Only `cancel` may be called from other threads."""

    def __init__(
        self,
        step: CompiledStep,
        links: api.Links,
        number: int,
        deadline: float | None,
    ) -> None:
        self._step = step
        self._pool = links
        self._number = number
        self._deadline = deadline
        self._caller = threading.get_ident()
        self._lock = threading.Lock()
        self._links: dict[str, api.Link] = {}
        self._waiting: set[str] = set()
        self._local: run.PartRun | None = None
        self._local_is_over = step.local is None
        self._is_started = False
        submits = step.local is not None and (step.local.waits or step.local.loops)
        self._inbox = inbox.Inbox(polled=submits and bool(step.remotes))
        self._fetched: dict[node.Edge, Array] = {}
        self._fault: errors.OpError | None = None
        self._cancelled: errors.OpError | None = None

    def execute(self, feeds: Feeds) -> dict[node.Edge, Array]:
        """Run the step and return its fetches, or raise the first error of a part."""
        timer = self._timer()
        try:
            self._run(feeds)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self._fault = self._fault or self._cancelled or errors.from_exception(fault)
        except BaseException:
            # An interrupt ends the step too. No dequeue may take an element after the interrupt.
            interrupted = errors.CancelledError(None, None, "The step was interrupted")
            self._end_local(interrupted, time.monotonic() + _INTERRUPT_SECONDS)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if self._fault is None:
            return self._fetched
        self._end_local(self._fault, None)
        raise self._fault

    def release(self) -> None:
        """Give links back to the pool if nothing more can arrive on them. Close the other links.

        A later `cancel` closes no link, because other steps may use these links by then.
        """
        self._inbox.close()
        with self._lock:
            links, self._links = self._links, {}
        is_cut_off = self._cancelled is not None or not self._local_is_over
        for remote in self._step.remotes:
            link = links.get(remote.task)
            if link is None:
                continue
            if remote.task in self._waiting or is_cut_off:
                link.close()
            else:
                self._pool.give_back(remote.task, remote.incarnation, link)

    def cancel(self, error: errors.OpError) -> None:
        """End every wait of the step with `error`. Any thread may call this."""
        with self._lock:
            self._cancelled = self._cancelled or error
            local = self._local
            self._close_links()
        if local is not None:
            local.fail(error)
        self._inbox.wake()

    def _close_links(self) -> None:
        for link in self._links.values():
            link.close()  # A thread that is blocked in `recv` or `send` gets an error.

    def _end_local(self, error: errors.OpError, limit: float | None) -> None:
        """End the local part, and wait for the segments that other threads run, until `limit`."""
        if self._local is None:
            return
        self._local.fail(error)
        if self._local_is_over:
            return
        with self._lock:
            self._close_links()
        with contextlib.suppress(errors.DeadlineExceededError):
            while not self._local_is_over:
                self._inbox.run_next(limit)

    def _timer(self) -> threading.Timer | None:
        """Start a timer that ends the loops of the local part when the deadline has passed.

        While the caller's thread runs these loops, it cannot watch the time itself.
        """
        local = self._step.local
        if self._deadline is None or local is None or not local.loops or self._step.remotes:
            return None
        timer = threading.Timer(max(0.0, self._deadline - time.monotonic()), self._expire)
        timer.daemon = True
        timer.start()
        return timer

    def _expire(self) -> None:
        with self._lock:
            local = self._local
        if local is not None:
            local.fail(inbox.timed_out())

    def _begin(self, feeds: Feeds) -> None:
        """Take a link to each remote task. Start the remote parts, and then the local part."""
        patience = time.monotonic() + RECONNECT_SECONDS
        limit = patience if self._deadline is None else min(patience, self._deadline)
        for remote in self._step.remotes:
            link = self._pool.take(remote.task, remote.incarnation, limit)
            self._waiting.add(remote.task)
            with self._lock:
                self._links[remote.task] = link
            self._require_alive()
        self._is_started = True
        for remote in self._step.remotes:
            values = [feeds[edge] for edge in remote.part.feeds]
            self._links[remote.task].send(
                api.Frame(api.Kind.START, self._number, remote.handle, values)
            )
        if self._step.local is None:
            return
        submit = self._inbox.submit
        if self._step.local.loops and self._step.remotes:
            submit = _run_in_thread
        local = run.PartRun(self._step.local, self._send, self._local_done, submit)
        with self._lock:
            self._local = local
        self._require_alive()
        inbox.require_before(self._deadline)
        local.start([feeds[edge] for edge in self._step.local.part.feeds])

    def _run(self, feeds: Feeds) -> None:
        """Start all parts, and wait until all have succeeded, one has failed, or time is up."""
        try:
            self._begin(feeds)
            while self._fault is None and (self._waiting or not self._local_is_over):
                if self._waiting:
                    self._receive()
                else:
                    self._inbox.run_next(self._deadline)
        except errors.DeadlineExceededError as late:
            if not self._is_started or self._fault is not None or self._cancelled is not None:
                raise
            self._withdraw(late)

    def _withdraw(self, error: errors.OpError) -> None:
        """Ask the tasks to end their parts, and wait for their answers. Then fail with `error`.

        If all parts have succeeded meanwhile, the step succeeds. A dequeue may have taken an
        element before its task learned of the deadline. The element would be lost if the step
        failed.
        """
        self._deadline = time.monotonic() + _WITHDRAW_SECONDS
        guard = threading.Timer(_WITHDRAW_SECONDS, self._cut)
        guard.daemon = True
        guard.start()
        with contextlib.suppress(errors.OpError):
            for task in self._waiting:
                self._links[task].send(api.Frame(api.Kind.CANCEL, self._number, 0))
            while self._waiting:
                self._receive()
            self._inbox.run_pending()
        guard.cancel()
        if self._waiting or self._fault is not None or not self._local_is_over:
            self._fault = error

    def _cut(self) -> None:
        """Close the links, so that a blocked `send` or `recv` raises."""
        with self._lock:
            self._close_links()

    def _require_alive(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled

    def _receive(self) -> None:
        """Wait for a frame, or for work of the local part, and handle it."""
        task = self._inbox.readable(self._links, self._waiting, self._deadline)
        if task is None:
            self._inbox.run_pending()
            return
        frame = self._links[task].recv(self._deadline)
        if frame.step != self._number:
            raise errors.InternalError(
                None, None, f"{task} answered step {frame.step} in step {self._number}"
            )
        if frame.kind is api.Kind.DONE:
            self._note_end(task, frame)
        elif frame.kind is api.Kind.LEG and self._local is not None:
            self._local.arrive(frame.subject, frame.values)

    def _send(self, message: parts.Message, values: program.Values) -> None:
        self._links[message.destination].send(
            api.Frame(api.Kind.LEG, self._number, message.number, values)
        )

    def _local_done(self, fetches: program.Values, error: errors.OpError | None) -> None:
        """Keep the fetches or the error of the local part, which has ended.

        The thread that ran the last segment of the part, or ended the part, calls this.
        """
        if error is not None:
            self._fault = self._fault or error
        elif self._step.local is not None:
            try:
                self._keep(self._step.local.part.fetches, fetches)
            except Exception as fault:  # noqa: BLE001 - the step's error, such as too little memory
                self._fault = self._fault or errors.from_exception(fault)
        self._local_is_over = True
        if threading.get_ident() != self._caller:
            self._inbox.wake()

    def _note_end(self, task: str, frame: api.Frame) -> None:
        """Keep the fetches, or the error, with which `task` ended its part."""
        self._waiting.discard(task)
        if frame.subject:
            (message,) = frame.values
            words = bytes(message.item()).decode(errors="replace")
            self._fault = errors.from_code(frame.subject, f"From {task}:\n{words}")
            return
        (part,) = (remote.part for remote in self._step.remotes if remote.task == task)
        self._keep(part.fetches, frame.values)

    def _keep(self, edges: Sequence[node.Edge], values: program.Values) -> None:
        self._fetched.update(zip(edges, map(owned, values), strict=True))


def owned(value: Any) -> Any:
    """Return a copy that the caller may keep. Return a NumPy scalar itself: it is immutable."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _run_in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="capstan-step", daemon=True).start()
