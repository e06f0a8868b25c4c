"""Run a part in the calling thread alone, segment after segment.

This suits parts that exchange no messages, if `executor.turns` finds an order. A node that waits,
such as a dequeue, often answers at once. Otherwise the thread sleeps until the answer, because no
other segment can run meanwhile. Such a step needs no other thread.
"""

import functools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.executor import faults, flight, program
from capstan.resources import waiters
from capstan.services import inbox, step_run

Confirm = Callable[[], errors.OpError | None]
"""Returns the error with which a step fails if nobody wants its fetches any more."""


def run(compiled: program.Program, feeds: program.Values, check: Callable[[], None]) -> list[Any]:
    """Run a part in which no node waits. Return copies of its fetches, in the order of the part.

    Calls `check` after each segment. An error that `check` raises ends the part.

    Raises:
        OpError: a kernel failed. The message names the node.
    """
    try:
        context = compiled.take()
        context.take_feeds(feeds)
        for turn in compiled.turns:
            compiled.run_segment(context, turn.segment)
            check()
        fetched = [*map(step_run.owned, compiled.fetch(context))]
    except Exception as fault:
        faults.forget_frames(fault)
        raise
    compiled.give_back(context)
    return fetched


class WaitingRun:
    """One run of a part in which nodes wait. Only `cancel` may be called from other threads."""

    def __init__(self, compiled: program.Program, deadline: float | None) -> None:
        """`deadline` is in seconds of `time.monotonic`."""
        self._program = compiled
        self._deadline = deadline
        self._context = compiled.take()
        self._copies: list[Callable[[], None]] = []
        """Functions that wait until a device has copied."""
        self._copied = 0
        self._cancellation = cancellation.Cancellation(self._copies.append)
        self._pending: set[int] = set()
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_over = False
        self._is_wanted = True
        self._answers = flight.Answers()

    def execute(self, feeds: program.Values, confirm: Confirm) -> list[Any]:
        """Run the part. Return copies of its fetches, in the order of the part.

        Calls `confirm` at the end. If the part fails, the answers that no segment has read are
        given back, for example to their queue.

        Raises:
            OpError: a node failed, and the message names it. Or the part was cancelled.
            DeadlineExceededError: the deadline has passed.
        """
        try:
            self._context.take_feeds(feeds)
            self._run()
            fetched = [*map(step_run.owned, self._program.fetch(self._context))]
            self._require_wanted(confirm)
        except Exception as fault:
            faults.forget_frames(fault)
            self._fail(errors.from_exception(fault))
            raise
        except BaseException:
            # An interrupt ends the step too. No dequeue may take an element after the interrupt.
            self._fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise
        self._cancellation.end()
        waiting = self._context.waiting
        waiting[:] = [None] * len(waiting)  # The outputs may be large.
        # A queue's answer refers to its element and to this run: a cycle.
        self._answers.unread.clear()
        self._program.give_back(self._context)
        return fetched

    def cancel(self, error: errors.OpError, *, is_wanted: bool = True) -> None:
        """End the part with `error` at its next wait or segment. Never blocks.

        If no wait and no segment is left, the part succeeds, unless its fetches are not wanted.
        """
        self._is_wanted = self._is_wanted and is_wanted
        self._cancellation.cancel(error)
        self._wakes.put(None)

    def _run(self) -> None:
        layout = self._program.layout
        for turn in self._program.turns:
            if turn.waits:
                self._wait_for_answers()
            self._check()
            for waiting in layout.awaits[turn.segment]:
                self._answers.unread.pop(waiting, None)
            self._program.run_segment(self._context, turn.segment)
            for waiting in layout.starts[turn.segment]:
                self._start(waiting)
        self._wait_for_answers()

    def _require_wanted(self, confirm: Confirm) -> None:
        error = confirm() if self._is_wanted else self._cancellation.error
        if error is not None:
            raise error

    def _check(self) -> None:
        """Raise the error with which the part has to end.

        After the first answer that is not a copy, the deadline ends the part only while it waits.
        Otherwise an element that a segment has read would be lost.
        """
        if self._cancellation.error is not None:
            raise self._cancellation.error
        if len(self._answers.answered) <= self._copied:
            inbox.require_before(self._deadline)

    def _start(self, waiting: int) -> None:
        """Start a waiting node. A node in a branch that is not taken has no answer."""
        self._pending.add(waiting)
        done = functools.partial(self._answer, waiting)
        if not self._program.start(self._context, waiting, done, self._cancellation):
            self._pending.discard(waiting)

    def _wait_for_answers(self) -> None:
        """Wait until all nodes that were started have answered."""
        self._take_answers()
        while self._pending:
            self._check()
            if self._copies:
                self._copies.pop()()  # The last copy takes longest.
                self._copied += 1
                self._check()
            else:
                self._sleep()
            self._take_answers()

    def _sleep(self) -> None:
        """Sleep until another thread brings an answer, or cancels the part."""
        limit = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            self._wakes.get(timeout=limit)
        except queue.Empty:
            raise inbox.timed_out() from None

    def _take_answers(self) -> None:
        while self._answers.arrived:
            waiting, outputs, error = self._answers.arrived.popleft()
            self._pending.discard(waiting)
            if error is not None:
                # If the part was cancelled, the errors of its waiting nodes only say so.
                raise self._cancellation.error or self._program.failure(waiting, error)
            if outputs is not None:
                self._program.answer(self._context, waiting, outputs)

    def _answer(
        self,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Record the answer of a waiting node, as `registry.Done`.

        Return whether the part takes the outputs. A second answer is ignored.
        """
        with self._lock:
            if self._is_over or not self._answers.record(waiting, outputs, error, give_back):
                return False
        self._wakes.put(None)
        return True

    def _fail(self, error: errors.OpError) -> None:
        """Cancel the nodes that wait, and give back the answers that no segment has read."""
        with self._lock:
            self._is_over = True
        try:
            self._cancellation.cancel(error)
            for abort in self._program.aborts:
                abort(error)
        finally:
            self._answers.give_back()
            self._answers.unread.clear()
            self._cancellation.end()
