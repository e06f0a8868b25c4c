"""Runs the steps of a session: a compiled signature over the tasks of a cluster.

The caller's thread does all the work of a step: it starts the remote parts, runs the part of its
own task, reads the links, and copies the fetches. A step on the caller's own task uses no link. If
a node of the caller's own task waits, for example a dequeue, then the thread that ends the wait
hands the rest of the step to the caller's thread.
"""

import select
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

_POLL_SECONDS = 0.5
"""A step that waits for several tasks notices within this time that a link was closed."""

RECONNECT_SECONDS = 10.0
"""How long a step waits for a task that does not answer before it raises UnavailableError."""


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


class Steps:
    """Runs the compiled steps of one session, and can cancel those in flight. Thread-safe."""

    def __init__(self, links: api.Links, next_step: Callable[[], int]) -> None:
        self._links = links
        self._next_step = next_step
        self._lock = threading.Lock()
        self._runs: set[_Run] = set()
        self._closed = False

    def run(
        self, step: CompiledStep, feeds: Feeds, deadline: float | None
    ) -> dict[node.Edge, Array]:
        """Run one step; returns copies of its fetches.

        A deadline or `close` ends a node that waits at once, and a loop after an iteration. It ends
        other nodes after their segment.

        Raises:
            OpError: the first error of any part.
            UnavailableError: a task does not answer.
            AbortedError: a task was restarted.
            DeadlineExceededError: `deadline` (seconds of `time.monotonic`) passed.
            CancelledError: the session was closed.
        """
        local = step.local
        if not step.remotes and local is not None and not (local.waits or local.loops):
            return self._run_alone(local, feeds, deadline)
        step_run = _Run(step, self._links, self._next_step(), deadline)
        try:
            self._begin(step_run)
            return step_run.execute(feeds)
        except Exception as fault:  # noqa: BLE001 - the step's error
            if self._closed:
                raise cancelled_by_close() from None
            raise errors.from_exception(fault) from fault.__cause__
        finally:
            with self._lock:
                self._runs.discard(step_run)
            step_run.release()

    def _begin(self, step_run: "_Run") -> None:
        with self._lock:
            if self._closed:
                raise cancelled_by_close()
            self._runs.add(step_run)

    def _run_alone(
        self, compiled: program.Program, feeds: Feeds, deadline: float | None
    ) -> dict[node.Edge, Array]:
        """Run a part that exchanges no messages and never waits, in the caller's thread."""
        part = compiled.part
        try:
            context = compiled.take()
            context.feed([feeds[edge] for edge in part.feeds])
            for index in range(len(compiled.layout.keys)):
                compiled.run_segment(context, index)
                if deadline is not None:
                    _require_before(deadline)
            fetched = {
                edge: _owned(value)
                for edge, value in zip(part.fetches, compiled.fetch(context), strict=True)
            }
        except Exception as fault:  # noqa: BLE001 - the step's error
            if self._closed:
                raise cancelled_by_close() from None
            raise errors.from_exception(fault) from fault.__cause__
        compiled.give_back(context)
        if self._closed:
            raise cancelled_by_close()
        return fetched

    def close(self) -> None:
        """Cancel the steps in flight; they raise CancelledError."""
        with self._lock:
            self._closed = True
            runs = list(self._runs)
        for step_run in runs:
            step_run.cancel()


def cancelled_by_close() -> errors.CancelledError:
    """Return the error of a step whose session was closed."""
    return errors.CancelledError(
        None, None, "Step was cancelled by an explicit call to `Session::Close()`."
    )


def _require_before(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise inbox.timed_out()


def _owned(value: Any) -> Any:
    """Return a copy that the caller may keep. NumPy scalars are immutable and returned as is."""
    return value.copy() if isinstance(value, np.ndarray) else value


class _Run:
    """One run of a step that uses links or waits."""

    def __init__(
        self, step: CompiledStep, links: api.Links, number: int, deadline: float | None
    ) -> None:
        self._step = step
        self._pool = links
        self._number = number
        self._deadline = deadline
        self._lock = threading.Lock()
        self._links: dict[str, api.Link] = {}
        self._waiting: set[str] = set()
        self._local: run.PartRun | None = None
        self._local_is_over = step.local is None
        submits = step.local is not None and (step.local.waits or step.local.loops)
        self._inbox = inbox.Inbox(polled=submits and bool(step.remotes))
        self._fetched: dict[node.Edge, Array] = {}
        self._fault: errors.OpError | None = None
        self._cancelled = False

    def execute(self, feeds: Feeds) -> dict[node.Edge, Array]:
        """Run the step and return its fetches, or raise the first error of a part."""
        timer = self._timer()
        try:
            self._begin(feeds)
            while self._fault is None and (self._waiting or not self._local_is_over):
                if self._waiting:
                    self._receive()
                else:
                    self._inbox.run_next(self._deadline)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self._fault = self._fault or errors.from_exception(fault)
        except BaseException:
            # An interrupt ends the step too. A dequeue must not take an element after it.
            if self._local is not None:
                self._local.fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if self._fault is None:
            return self._fetched
        if self._local is not None:
            self._local.fail(self._fault)
        raise self._fault

    def release(self) -> None:
        """Give back the links on which nothing more can arrive, and close the others.

        A later `cancel` closes no link, because other steps may use these links by then.
        """
        self._inbox.close()
        with self._lock:
            links, self._links = self._links, {}
        for remote in self._step.remotes:
            link = links.get(remote.task)
            if link is None:
                continue
            if remote.task in self._waiting or self._cancelled:
                link.close()
            else:
                self._pool.give_back(remote.task, remote.incarnation, link)

    def cancel(self) -> None:
        """End every wait of the step. Any thread may call this."""
        with self._lock:
            self._cancelled = True
            local = self._local
            for link in self._links.values():
                link.close()  # a blocked `recv` raises
        if local is not None:
            local.fail(cancelled_by_close())
            self._inbox.submit(_wake)

    def _timer(self) -> threading.Timer | None:
        """Start a timer that ends the loops of the local part when the deadline has passed.

        The caller's thread runs these loops, so it cannot watch the time itself.
        """
        if self._deadline is None or self._step.local is None or not self._step.local.loops:
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
        patience = time.monotonic() + RECONNECT_SECONDS
        limit = patience if self._deadline is None else min(patience, self._deadline)
        for remote in self._step.remotes:
            link = self._pool.take(remote.task, remote.incarnation, limit)
            self._waiting.add(remote.task)
            with self._lock:
                self._links[remote.task] = link
        if self._cancelled:
            raise cancelled_by_close()
        for remote in self._step.remotes:
            values = [feeds[edge] for edge in remote.part.feeds]
            self._links[remote.task].send(
                api.Frame(api.Kind.START, self._number, remote.handle, values)
            )
        if self._step.local is None:
            return
        local = run.PartRun(self._step.local, self._send, self._local_done, self._inbox.submit)
        with self._lock:
            self._local = local
        if self._cancelled:
            raise cancelled_by_close()
        if self._deadline is not None:
            _require_before(self._deadline)
        local.start([feeds[edge] for edge in self._step.local.part.feeds])

    def _receive(self) -> None:
        """Wait for a frame, or for work of the local part, and handle it."""
        task = self._readable()
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
        if error is not None:
            self._fault = self._fault or error
        elif self._step.local is not None:
            try:
                self._keep(self._step.local.part.fetches, fetches)
            except Exception as fault:  # noqa: BLE001 - the step's error, such as too little memory
                self._fault = self._fault or errors.from_exception(fault)
            self._local_is_over = True

    def _note_end(self, task: str, frame: api.Frame) -> None:
        self._waiting.discard(task)
        if frame.subject:
            (message,) = frame.values
            words = bytes(message.item()).decode(errors="replace")
            self._fault = errors.from_code(frame.subject, f"From {task}:\n{words}")
            return
        (part,) = (remote.part for remote in self._step.remotes if remote.task == task)
        self._keep(part.fetches, frame.values)

    def _keep(self, edges: Sequence[node.Edge], values: program.Values) -> None:
        self._fetched.update(zip(edges, map(_owned, values), strict=True))

    def _readable(self) -> str | None:
        """Return a task whose link has data to read, or None if the inbox has work.

        Blocks only if there are several of these.
        """
        if len(self._waiting) == 1 and self._inbox.fileno() < 0:
            (task,) = self._waiting
            return task
        while (found := self._poll()) == "":
            if self._deadline is not None:
                _require_before(self._deadline)
        return found

    def _poll(self) -> str | None:
        """Wait a short time for data on any link or work in the inbox.

        Return the task of the link, None for the inbox, or "" if there was nothing. A link that is
        closed during the wait is found by the next call.
        """
        poller = select.poll()
        if self._inbox.fileno() >= 0:
            poller.register(self._inbox.fileno(), select.POLLIN)
        tasks: dict[int, str] = {}
        for task in self._waiting:
            link = self._links[task]
            if link.pending():
                return task
            descriptor = link.fileno()
            if descriptor < 0:
                return task  # the link is closed, and its `recv` raises the reason
            tasks[descriptor] = task
            poller.register(descriptor, select.POLLIN)
        patience = _POLL_SECONDS
        if self._deadline is not None:
            patience = min(patience, max(0.0, self._deadline - time.monotonic()))
        ready = poller.poll(patience * 1000)
        return tasks.get(ready[0][0]) if ready else ""


def _wake() -> None:
    """Do nothing. A thread that waits for its inbox looks at the state of the step after this."""
