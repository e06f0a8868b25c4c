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
from capstan.executor import program, run, waiting_run
from capstan.partition import parts
from capstan.resources import waiters
from capstan.services import inbox, remote_parts
from capstan.transport import api

Array = np.ndarray[Any, Any]
Feeds = Mapping[node.Edge, Array]

RECONNECT_SECONDS = 10.0
"""How long a step waits for a task that does not answer before it raises UnavailableError."""

_INTERRUPT_SECONDS = 1.0
"""How long an interrupted step waits for the segments that other threads run."""


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """The result of compiling a signature: a local program, remote parts, or both.

    `copies` maps each fetch in the memory of a device to the copy that is fetched instead. If the
    step dumps tensors, `watched_graphs` has the serialised GraphDef of each device.
    """

    local: program.Program | None
    remotes: tuple[remote_parts.Remote, ...]
    copies: Mapping[node.Edge, node.Edge] = field(default_factory=dict)
    watched_graphs: Mapping[str, bytes] = field(default_factory=dict)


class StepRun:
    """One run of a step. Only `cancel` and `cut` may be called from other threads.

    Any thread may set `_cancelled`. The thread of the step reads it after every event.
    """

    def __init__(
        self,
        step: CompiledStep,
        links: api.Links,
        number: int,
        deadline: float | None,
    ) -> None:
        self._step = step
        self._remotes = remote_parts.RemoteParts(step.remotes, links, number)
        self._waiting = self._remotes.waiting
        self._number = number
        self._deadline = deadline
        self._caller = threading.get_ident()
        self._local: run.PartRun | None = None
        self._local_is_over = step.local is None
        self._unread: Sequence[waiters.GiveBack] = ()
        self._is_started = False
        submits = step.local is not None and (step.local.waits or step.local.loops)
        self._inbox = inbox.Inbox(polled=submits and bool(step.remotes))
        self._fetched: dict[node.Edge, Array] = {}
        self._fault: errors.OpError | None = None
        self._cancelled: errors.OpError | None = None
        self._is_wanted = True
        self._guard: threading.Timer | None = None

    def execute(
        self, feeds: Feeds, confirm: Callable[[], errors.OpError | None]
    ) -> dict[node.Edge, Array]:
        """Run the step and return its fetches, or raise the first error of a part.

        If all parts have succeeded, this calls `confirm`. If nobody wants the fetches any more,
        `confirm` returns the error with which the step then fails.
        """
        timer = self._timer()
        try:
            self._run(feeds)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self._fault = self._fault or self._cancelled or errors.from_exception(fault)
        except BaseException:
            # An interrupt ends the step too. No dequeue may take an element after the interrupt.
            interrupted = errors.CancelledError(None, None, "The step was interrupted")
            self._undo(interrupted, time.monotonic() + _INTERRUPT_SECONDS)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if self._fault is None:
            self._fault = confirm() if self._is_wanted else self._cancelled
        if self._fault is None:
            return self._fetched
        self._undo(self._fault, None)
        raise self._fault

    def release(self) -> None:
        """Give links back to the pool if nothing more can arrive on them. Close the other links.

        A later `cancel` or `cut` reaches no link, because other steps may use these links by then.
        """
        self._inbox.close()
        self._unread = ()
        if self._guard is not None:
            self._guard.cancel()
        if self._step.remotes:
            self._remotes.release(is_cut_off=not self._local_is_over)

    def cancel(self, error: errors.OpError, *, is_wanted: bool) -> None:
        """Ask all parts to end, with `error`. Any thread may call this. Never blocks.

        If all parts have succeeded meanwhile, and `is_wanted`, the step succeeds. The links of
        tasks that do not answer are cut later.
        """
        self._is_wanted = self._is_wanted and is_wanted
        self._cancelled = self._cancelled or error
        if self._step.remotes:
            self._guard = self._guard or remote_parts.start_guard(self.cut)
            self._remotes.cancel()
        elif self._local is not None:
            self._local.fail(error)
        self._inbox.wake()

    def cut(self) -> None:
        """Close the links of a cancelled step, and end its local part. Any thread may call this."""
        self._remotes.cut()
        if self._local is not None and self._cancelled is not None:
            self._local.fail(self._cancelled)

    def _undo(self, error: errors.OpError, limit: float | None) -> None:
        """End all parts. Give back the elements that the step took, unless a segment has read them.

        Wait for the segments of the local part that other threads run, until `limit`.
        """
        if self._step.remotes:
            self._remotes.undo()
        self._end_local(error, limit)
        for give_back in self._unread:
            give_back()

    def _end_local(self, error: errors.OpError, limit: float | None) -> None:
        """End the local part, and wait for the segments that other threads run, until `limit`."""
        if self._local is None:
            return
        self._local.fail(error)
        if self._local_is_over:
            return
        self._remotes.cut()
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
        if self._local is not None:
            self._local.fail(inbox.timed_out())

    def _begin(self, feeds: Feeds) -> None:
        """Take a link to each remote task. Start the remote parts, and then the local part.

        Raises DeadlineExceededError if the deadline has passed, perhaps during the compilation.
        """
        inbox.require_before(self._deadline)
        if self._step.remotes:
            self._remotes.connect(self._deadline, RECONNECT_SECONDS, self._require_alive)
            self._is_started = True
            self._remotes.start(feeds)
        self._is_started = True
        if self._step.local is None:
            return
        submit = self._inbox.submit
        if self._step.local.loops and self._step.remotes:
            submit = _run_in_thread
        self._local = waiting_run.part_run(
            self._step.local,
            self._send,
            self._local_done,
            submit,
            self._keep_unread,
            may_block=not self._step.remotes,  # Otherwise this thread also watches the links.
        )
        if self._cancelled is not None:
            return  # `cancel` may not have seen the local part
        self._local.start([feeds[edge] for edge in self._step.local.part.feeds])

    def _run(self, feeds: Feeds) -> None:
        """Start all parts, and wait until all have succeeded, one has failed, or time is up."""
        error: errors.OpError | None = None
        try:
            self._begin(feeds)
            while (
                self._fault is None
                and self._cancelled is None
                and (self._waiting or not self._local_is_over)
            ):
                if self._waiting:
                    self._receive()
                else:
                    self._inbox.run_next(self._deadline)
        except errors.DeadlineExceededError:
            if not self._is_started or self._fault is not None:
                raise
            error = inbox.timed_out()
        error = self._cancelled or error
        if error is not None:
            self._withdraw(error)

    def _withdraw(self, error: errors.OpError) -> None:
        """Ask the tasks to end their parts, and wait for their answers. Then fail with `error`.

        If all parts have succeeded meanwhile, the step succeeds. A segment may have read an element
        before its task learned of the end. The element would be lost if the step failed.
        """
        if self._waiting and self._guard is None:
            self._guard = remote_parts.start_guard(self.cut)
        self._deadline = time.monotonic() + remote_parts.WITHDRAW_SECONDS
        with contextlib.suppress(errors.OpError):
            for task in self._waiting:
                self._remotes.links[task].send(api.Frame(api.Kind.CANCEL, self._number, 0))
            while self._waiting:
                self._receive()
            self._inbox.run_pending()
        if self._waiting or self._fault is not None or not self._local_is_over:
            self._fault = error

    def _require_alive(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled

    def _receive(self) -> None:
        """Wait for a frame, or for work of the local part, and handle it."""
        links = self._remotes.links
        task = self._inbox.readable(links, self._waiting, self._deadline)
        if task is None:
            self._inbox.run_pending()
            return
        frame = links[task].recv(self._deadline)
        if frame.step != self._number:
            raise errors.InternalError(
                None, None, f"{task} answered step {frame.step} in step {self._number}"
            )
        if frame.kind is api.Kind.DONE:
            self._note_end(task, frame)
        elif frame.kind is api.Kind.LEG and self._local is not None:
            self._local.arrive(frame.subject, frame.values)

    def _send(self, message: parts.Message, values: program.Values) -> None:
        self._remotes.links[message.destination].send(
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
        self._keep(self._remotes.part(task).fetches, frame.values)

    def _keep_unread(self, unread: Sequence[waiters.GiveBack]) -> None:
        self._unread = unread

    def _keep(self, edges: Sequence[node.Edge], values: program.Values) -> None:
        self._fetched.update(zip(edges, map(owned, values), strict=True))


def owned(value: Any) -> Any:
    """Return a copy that the caller may keep. Return a NumPy scalar itself: it is immutable."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _run_in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="capstan-step", daemon=True).start()
