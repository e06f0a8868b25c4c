"""Run a part with nodes that wait or loops, or on several devices, in one step.

A node that waits, for example a dequeue, holds a callback and no thread. The thread that ends the
wait only records the outputs of the node, its *answer*. If no thread runs segments of the part at
that moment, the run asks for one with `submit`. A chain of answers therefore never recurses. A
call that ends a wait, for example an enqueue, never runs the segments that waited.

If several devices run the part, the inter-op threads of the task run the other segments that are
ready. A part that fails gives back the answers that no segment has read, for example to their
queue.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.executor import flight, program, run
from capstan.resources import waiters

Keep = Callable[[Sequence[waiters.GiveBack]], None]


def _forget(_: Sequence[waiters.GiveBack]) -> None:
    pass


def part_run(
    compiled: program.Program, send: run.Send, done: run.Done, submit: flight.Submit,
    keep: Keep = _forget, *, may_block: bool = False, sends_wait: bool = False,
) -> run.PartRun:  # fmt: skip
    """Return a run of a part. The arguments are those of `WaitingPartRun`."""
    if compiled.waits or compiled.loops:
        return WaitingPartRun(
            compiled, send, done, submit, keep, may_block=may_block, sends_wait=sends_wait
        )
    return run.PartRun(compiled, send, done, submit, sends_wait=sends_wait)


class WaitingPartRun(run.PartRun):
    """One run of a part that has nodes that wait, or loops.

    If `may_block`, the thread that runs the segments may wait for a device, because nothing else
    needs this thread meanwhile. If the part succeeds, and no segment has read the answers of some
    waiting nodes, the part calls `keep` before `done`. The step may fail later for another reason.
    In this case the owner of the step gives these answers back. `keep` must not block. The other
    arguments are those of `PartRun`.
    """

    def __init__(
        self,
        compiled: program.Program,
        send: run.Send,
        done: run.Done,
        submit: flight.Submit,
        keep: Keep,
        *,
        may_block: bool,
        sends_wait: bool,
    ) -> None:
        super().__init__(compiled, send, done, submit, sends_wait=sends_wait)
        self._keep = keep
        self._waits = flight.Waits(may_block=may_block)
        if self._context.watch is not None:
            ends: list[errors.OpError] = []
            self._waits.flight.register(ends.append)
            self._context.watch([ends])

    def _cancel(self, error: errors.OpError) -> None:
        self._waits.flight.cancel(error)
        super()._cancel(error)

    def _run_ready(self) -> bool:
        index: int | None = None
        while True:
            with self._lock:
                if index is not None:
                    self._ready.extend(self._state.finish(index))
                self._take_finished()
                self._take_answers()
                if self._is_over or self._state.is_over:
                    break
                wait = self._take_idle()
                if not self._ready and wait is None:
                    self._is_running = False
                    return True
                index, others = self._take_ready() if wait is None else (None, ())
            if others:
                self._run_beside(others)
            if wait is not None:
                wait()
            elif index is not None:
                self._run_segment(index)
        return not self._is_over and self._succeed(self._program.fetch(self._context))

    def _succeed(self, fetches: program.Values) -> bool:
        waits = self._waits
        with self._lock:
            if self._is_over:
                return False
            self._is_over = self._is_reported = True
            if waits.unread:
                # Keep the answers under the lock. A `fail` that comes too late then finds them
                # kept.
                self._keep(tuple(waits.unread.values()))
                waits.unread.clear()
        waits.flight.end()
        self._finish(fetches)
        return True

    def _report(self) -> None:
        waits = self._waits
        with self._lock:
            is_busy = self._is_running or waits.running_beside
            if not self._is_over or self._is_reported or is_busy:
                return
            self._is_reported = True
        try:
            waits.give_back()
            waits.flight.end()
        finally:
            self._done((), self._fault)

    def _take_ready(self) -> tuple[int, Sequence[int]]:
        """Return the segment for this thread, and the segments that other threads shall run."""
        index = self._ready.popleft()
        waits = self._waits
        others = tuple(self._ready) if self._program.is_parallel else ()
        if others:
            self._ready.clear()
            waits.running_beside += len(others)
        for segment in (index, *others) if waits.unread else ():
            for waiting in self._program.layout.awaits[segment]:
                waits.unread.pop(waiting, None)
        return index, others

    def _take_idle(self) -> Callable[[], None] | None:
        """Return the wait for a device that this thread shall do, if it has nothing else to do.

        The inter-op threads do the other waits.
        """
        waits = self._waits
        if self._ready or not waits.idle:
            return None
        if waits.are_idle:
            return waits.idle.popleft()
        while waits.idle:
            self._program.submit(waits.idle.popleft())
        return None

    def _run_beside(self, segments: Sequence[int]) -> None:
        """Let the inter-op threads run segments."""
        for position, index in enumerate(segments):
            try:
                self._program.submit(functools.partial(self._run_one_beside, index))
            except BaseException:
                with self._lock:
                    self._waits.running_beside -= len(segments) - position
                raise

    def _run_one_beside(self, index: int) -> None:
        """Run a segment in an inter-op thread, and record that it ended."""
        fault, waits = None, self._waits
        try:
            if not self._is_over:
                self._run_segment(index)
        except BaseException as caught:  # noqa: BLE001 - the step's error
            fault = errors.from_exception(caught)
        with self._lock:
            waits.running_beside -= 1
            waits.beside.append((index, fault))
            if self._is_running:
                return
            is_over = self._is_over
            self._is_running = not is_over
        if is_over:
            self._report()
            return
        self._run_elsewhere()

    def _take_finished(self) -> None:
        waits = self._waits
        while waits.beside:
            index, fault = waits.beside.popleft()
            if fault is not None:
                raise fault
            self._ready.extend(self._state.finish(index))

    def _run_segment(self, index: int) -> None:
        super()._run_segment(index)
        for waiting in self._program.layout.starts[index]:
            self._start(waiting)

    def _start(self, waiting: int) -> None:
        """Start a waiting node. A node in a branch that is not taken answers at once."""
        answer, waits = self._answer, self._waits
        with self._lock:
            waits.started += 1
            if waiting in self._program.beside:
                answer = self._answer_beside
                waits.running_beside += 1
        done = functools.partial(answer, waiting)
        if not self._program.start(self._context, waiting, done, waits.flight):
            done(None, None)

    def _answer_beside(
        self,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Record the answer of a node that ran in an inter-op thread, as `registry.Done`."""
        with self._lock:
            self._waits.running_beside -= 1
        is_taken = self._answer(waiting, outputs, error, give_back)
        if self._is_over:
            self._report()
        return is_taken

    def _take_answers(self) -> None:
        arrived = self._waits.arrived
        while arrived:
            waiting, outputs, error = arrived.popleft()
            if error is not None:
                raise self._program.failure(waiting, error)
            if outputs is not None:
                self._program.answer(self._context, waiting, outputs)
            self._ready.extend(self._state.answer(waiting))

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
        waits = self._waits
        with self._lock:
            if self._is_over or not waits.record(waiting, outputs, error, give_back):
                return False
            if self._is_running:
                return True
            self._is_running = True
        # If there is no thread, the caller takes the outputs back. If this part gave them back, it
        # might answer the next step that waits, which might do the same. A long line of steps would
        # then recurse.
        return self._run_elsewhere(functools.partial(waits.retract, waiting))
