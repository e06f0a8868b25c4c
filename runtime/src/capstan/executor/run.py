"""Run a part in one step: move values, and call the segments that `state` allows to run.

One thread at a time decides which segments of a part run, and runs them. This thread delivered the
event for which the first of these segments waited. It also handles the events that arrive
meanwhile. If several devices run the part, the inter-op threads of the task run the other segments
that are ready.

A node that waits, for example a dequeue, holds a callback and no thread. The thread that ends the
wait only records the outputs of the node, its *answer*. If no thread runs segments of the part at
that moment, the run asks for one with `submit`. A chain of answers therefore never recurses. A
call that ends a wait, for example an enqueue, never runs the segments that waited.

A part that fails starts no further segment, and ends its waits and loops at once. It reports its
end when the last running segment is over, so a step that has ended changes nothing any more. The
part gives back the answers that no segment has read, for example to their queue.
"""

import functools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.executor import faults, flight, program, state
from capstan.partition import parts
from capstan.resources import waiters

Send = Callable[[parts.Message, program.Values], None]
Keep = Callable[[Sequence[waiters.GiveBack]], None]
Done = Callable[[program.Values, errors.OpError | None], None]


def _forget(_: Sequence[waiters.GiveBack]) -> None:
    pass


class PartRun:
    """One run of a part.

    `send(message, values)` sends a message and returns when the values may be reused.
    `done(fetches, error)` is called exactly once, when no segment of the part runs any more, also
    if the part fails. The thread of the last event calls `done`. The fetches are valid until
    `done` returns. `submit` is only called if the part has nodes that wait or loops, if several
    devices run the part, or if `sends_wait`. If `sends_wait`, `send` may wait for another task, so
    no thread that calls `start` or `arrive` runs a segment. If `may_block`, the thread that runs
    the segments may wait for a device, because nothing else needs this thread meanwhile. If the
    part succeeds, and no segment has read the answers of some waiting nodes, the part calls `keep`
    before `done`. The step may fail later for another reason. In this case the owner of the step
    gives these answers back. `keep` must not block. Thread-safe.
    """

    def __init__(
        self,
        compiled: program.Program,
        send: Send,
        done: Done,
        submit: flight.Submit,
        keep: Keep = _forget,
        *,
        may_block: bool = False,
        sends_wait: bool = False,
    ) -> None:
        self._program = compiled
        self._send = send
        self._done = done
        self._keep = keep
        self._submit = submit
        # A segment that loops or waits would keep the caller from noticing the end of the step.
        self._leaves_caller = sends_wait or compiled.loops
        self._context = compiled.take()
        self._state = state.StepState(compiled.plan)
        self._lock = threading.Lock()
        self._ready: deque[int] = deque()
        self._is_running = False  # whether a thread runs segments, or was requested with `submit`
        self._is_over = False  # whether no further segment starts
        self._is_reported = False
        self._fault: errors.OpError | None = None
        self._waits: flight.Waits | None = None
        if compiled.waits or compiled.loops:
            self._waits = flight.Waits(may_block=may_block)
            if self._context.watch is not None:
                ends: list[errors.OpError] = []
                self._waits.flight.register(ends.append)
                self._context.watch([ends])

    @property
    def is_over(self) -> bool:
        """Whether the part has ended, or will end as soon as its running segment has."""
        return self._is_over

    def start(self, feeds: program.Values) -> None:
        """Start the part with the values of `part.feeds`. Run its first segments if possible."""
        try:
            self._context.take_feeds(feeds)
            with self._lock:
                if self._is_over:
                    return
                self._ready.extend(self._state.start())
                if not self._ready and not self._state.is_over:
                    return
                self._is_running = True
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))
            return
        self._advance()

    def arrive(self, number: int, values: program.Values) -> None:
        """Receive message `number`, and run the segments that waited for it.

        The values must stay valid until the part is done.
        """
        try:
            with self._lock:
                if self._is_over:
                    return
                self._context.arrive[number](values)
                self._ready.extend(self._state.arrive(number))
                if self._is_running or not self._ready:
                    return
                self._is_running = True
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))
            return
        self._advance()

    def fail(self, error: errors.OpError) -> None:
        """End the part with `error`, and cancel its waiting nodes and its loops. Never blocks.

        The results of a segment that is running are dropped. `done` is called after it.
        """
        faults.forget_frames(error)
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            self._fault = error
        try:
            if self._waits is not None:
                self._waits.flight.cancel(error)
            for abort in self._program.aborts:
                abort(error)
        finally:
            self._report()

    def _advance(self) -> None:
        """Run the segments that may run, in this thread or in another.

        The caller has set `_is_running`.
        """
        if self._leaves_caller:
            self._run_elsewhere()
        else:
            self._run()

    def _run_elsewhere(self, waiting: int | None = None) -> bool:
        """Let another thread run the segments that may run.

        If there is no other thread, fail the part, remove the answer of the node `waiting`, and
        return False.
        """
        try:
            self._submit(self._run)
        except RuntimeError as fault:
            with self._lock:
                self._is_running = False
                if self._waits is not None and waiting is not None:
                    self._waits.retract(waiting)
            self.fail(errors.from_exception(fault))
            return False
        return True

    def _run(self) -> None:
        """Run the segments that may run. The caller has set `_is_running`."""
        try:
            if self._run_ready():
                return
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))
        except (
            BaseException
        ) as interrupt:  # For example, a function of `py_func` may raise SystemExit.
            self.fail(errors.from_exception(interrupt))
            self._stop()
            raise
        self._stop()

    def _run_ready(self) -> bool:
        """Run segments until none may run. Return False if the part has failed meanwhile.

        If the part waits, the next event needs a new thread.
        """
        index: int | None = None
        while True:
            with self._lock:
                if index is not None:
                    self._ready.extend(self._state.finish(index))
                if self._waits is not None:
                    self._take_finished(self._waits)
                    self._take_answers(self._waits)
                if self._is_over or self._state.is_over:
                    break
                wait = self._take_idle(self._waits) if self._waits is not None else None
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
        """Report the end of the part, unless it has failed. Return whether it has succeeded."""
        with self._lock:
            if self._is_over:
                return False
            self._is_over = self._is_reported = True
            if self._waits is not None and self._waits.unread:
                # Keep the answers under the lock. A `fail` that comes too late then finds them
                # kept.
                self._keep(tuple(self._waits.unread.values()))
                self._waits.unread.clear()
        if self._waits is not None:
            self._waits.flight.end()
        self._done(fetches, None)
        waiting = self._context.waiting
        if waiting:  # The outputs may be large, and the next step may come much later.
            waiting[:] = [None] * len(waiting)
        self._program.give_back(self._context)
        return True

    def _stop(self) -> None:
        """Record that this thread runs no segment any more, and report the end of a failed part."""
        with self._lock:
            self._is_running = False
        self._report()

    def _report(self) -> None:
        """Call `done` if the part has failed and no thread runs a segment of it."""
        waits = self._waits
        with self._lock:
            is_busy = self._is_running or (waits is not None and waits.running_beside)
            if not self._is_over or self._is_reported or is_busy:
                return
            self._is_reported = True
        try:
            if waits is not None:
                waits.give_back()
                waits.flight.end()
        finally:
            self._done((), self._fault)

    def _take_ready(self) -> tuple[int, Sequence[int]]:
        """Return the segment for this thread, and the segments that other threads shall run."""
        index = self._ready.popleft()
        waits = self._waits
        if waits is None:
            return index, ()
        others = tuple(self._ready) if self._program.is_parallel else ()
        if others:
            self._ready.clear()
            waits.running_beside += len(others)
        for segment in (index, *others) if waits.unread else ():
            for waiting in self._program.layout.awaits[segment]:
                waits.unread.pop(waiting, None)
        return index, others

    def _take_idle(self, waits: flight.Waits) -> Callable[[], None] | None:
        """Return the wait for a device that this thread shall do, if it has nothing else to do.

        The inter-op threads do the other waits.
        """
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
                assert self._waits is not None
                with self._lock:
                    self._waits.running_beside -= len(segments) - position
                raise

    def _run_one_beside(self, index: int) -> None:
        """Run a segment in an inter-op thread, and record that it ended."""
        fault, waits = None, self._waits
        assert waits is not None
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

    def _take_finished(self, waits: flight.Waits) -> None:
        while waits.beside:
            index, fault = waits.beside.popleft()
            if fault is not None:
                raise fault
            self._ready.extend(self._state.finish(index))

    def _run_segment(self, index: int) -> None:
        compiled, layout = self._program, self._program.layout
        messages = compiled.run_segment(self._context, index)
        try:
            for message, values in zip(layout.sends[index], messages, strict=True):
                self._send(message, values)
        finally:
            compiled.release(index, messages)
        if self._waits is not None:
            for waiting in layout.starts[index]:
                self._start(waiting, self._waits)

    def _start(self, waiting: int, waits: flight.Waits) -> None:
        """Start a waiting node. A node in a branch that is not taken answers at once."""
        answer = self._answer
        with self._lock:
            waits.started += 1
            if waiting in self._program.beside:
                answer = self._answer_beside
                waits.running_beside += 1
        done = functools.partial(answer, waits, waiting)
        if not self._program.start(self._context, waiting, done, waits.flight):
            done(None, None)

    def _answer_beside(
        self,
        waits: flight.Waits,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Record the answer of a node that ran in an inter-op thread, as `registry.Done`."""
        with self._lock:
            waits.running_beside -= 1
        is_taken = self._answer(waits, waiting, outputs, error, give_back)
        if self._is_over:
            self._report()
        return is_taken

    def _take_answers(self, waits: flight.Waits) -> None:
        while waits.arrived:
            waiting, outputs, error = waits.arrived.popleft()
            if error is not None:
                raise self._program.failure(waiting, error)
            if outputs is not None:
                self._program.answer(self._context, waiting, outputs)
            self._ready.extend(self._state.answer(waiting))

    def _answer(
        self,
        waits: flight.Waits,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Record the answer of a waiting node, as `registry.Done`.

        Return whether the part takes the outputs. A second answer is ignored.
        """
        with self._lock:
            if self._is_over or not waits.record(waiting, outputs, error, give_back):
                return False
            if self._is_running:
                return True
            self._is_running = True
        # If there is no thread, the caller takes the outputs back. If this part gave them back, it
        # might answer the next step that waits, which might do the same. A long line of steps would
        # then recurse.
        return self._run_elsewhere(waiting)
