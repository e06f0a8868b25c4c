"""Run a part in one step: move values, and call the segments that `state` allows to run.

One thread at a time decides which segments of a part run, and runs them. This thread delivered the
event for which the first of these segments waited. It also handles the events that arrive
meanwhile.

A part that fails starts no further segment, and ends its waits and loops at once. It reports its
end when the last running segment is over, so a step that has ended changes nothing any more.
"""

import threading
from collections import deque
from collections.abc import Callable

from capstan import errors
from capstan.executor import faults, flight, program, state
from capstan.partition import parts

Send = Callable[[parts.Message, program.Values], None]
Done = Callable[[program.Values, errors.OpError | None], None]


class PartRun:
    """One run of a part. `waiting_run.part_run` makes it.

    `send(message, values)` sends a message and returns when the values may be reused.
    `done(fetches, error)` is called exactly once, when no segment of the part runs any more, also
    if the part fails. The thread of the last event calls `done`. The fetches are valid until
    `done` returns. `submit` is only called if the part has nodes that wait or loops, if several
    devices run the part, or if `sends_wait`. If `sends_wait`, `send` may wait for another task, so
    no thread that calls `start` or `arrive` runs a segment. Thread-safe.
    """

    def __init__(
        self,
        compiled: program.Program,
        send: Send,
        done: Done,
        submit: flight.Submit,
        *,
        sends_wait: bool = False,
    ) -> None:
        self._program = compiled
        self._send = send
        self._done = done
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
            self._cancel(error)
        finally:
            self._report()

    def _cancel(self, error: errors.OpError) -> None:
        """Cancel the waiting nodes and the loops of the part."""
        for abort in self._program.aborts:
            abort(error)

    def _advance(self) -> None:
        """Run the segments that may run, in this thread or in another.

        The caller has set `_is_running`.
        """
        if self._leaves_caller:
            self._run_elsewhere()
        else:
            self._run()

    def _run_elsewhere(self, retract: Callable[[], None] | None = None) -> bool:
        """Let another thread run the segments that may run.

        If there is no other thread, call `retract` under the lock, fail the part, and return False.
        """
        try:
            self._submit(self._run)
        except RuntimeError as fault:
            with self._lock:
                self._is_running = False
                if retract is not None:
                    retract()
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
                if self._is_over or self._state.is_over:
                    break
                if not self._ready:
                    self._is_running = False
                    return True
                index = self._ready.popleft()
            self._run_segment(index)
        return not self._is_over and self._succeed(self._program.fetch(self._context))

    def _succeed(self, fetches: program.Values) -> bool:
        """Report the end of the part, unless it has failed. Return whether it has succeeded."""
        with self._lock:
            if self._is_over:
                return False
            self._is_over = self._is_reported = True
        self._finish(fetches)
        return True

    def _finish(self, fetches: program.Values) -> None:
        """Call `done`, and let the next run use the context."""
        self._done(fetches, None)
        waiting = self._context.waiting
        if waiting:  # The outputs may be large, and the next step may come much later.
            waiting[:] = [None] * len(waiting)
        self._program.give_back(self._context)

    def _stop(self) -> None:
        """Record that this thread runs no segment any more, and report the end of a failed part."""
        with self._lock:
            self._is_running = False
        self._report()

    def _report(self) -> None:
        """Call `done` if the part has failed and no thread runs a segment of it."""
        with self._lock:
            if not self._is_over or self._is_reported or self._is_running:
                return
            self._is_reported = True
        self._done((), self._fault)

    def _run_segment(self, index: int) -> None:
        compiled = self._program
        messages = compiled.run_segment(self._context, index)
        try:
            for message, values in zip(compiled.layout.sends[index], messages, strict=True):
                self._send(message, values)
        finally:
            compiled.release(index, messages)
