"""One part in one step: moves values and calls the segments that `state` allows to run.

One thread at a time decides which segments of a part run, and runs them. It is the thread that
delivered the event for which the first of them waited. Events that arrive meanwhile are left to
that thread. If several devices run the part, the inter-op threads of the task run the other
segments that are ready. No thread waits here. A node that waits, for example a dequeue, holds a
callback and no thread. The thread that ends its wait only notes the answer. If no thread runs
segments of the part then, a new one is asked for with `submit`. A chain of answers therefore never
recurses, and a resource never runs the segments of the steps that waited for it.
"""

import functools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.executor import program, state
from capstan.partition import parts

Send = Callable[[parts.Message, program.Values], None]
Done = Callable[[program.Values, errors.OpError | None], None]
Submit = Callable[[Callable[[], None]], object]
"""Runs a function soon, in another thread or later in a thread that waits for the part."""

_Answer = tuple[int, Sequence[Any] | None, errors.OpError | None]
"""A waiting node, its outputs (None if the node is dead), and its error."""


class Flight(cancellation.Cancellation):
    """The cancellation that the waiting nodes of a run get, and the `submit` of the run."""

    __slots__ = ("submit",)

    def __init__(self, submit: Submit) -> None:
        super().__init__()
        self.submit = submit


class _Waits:
    """The state of the waiting nodes and of the loops of a run."""

    __slots__ = ("answered", "answers", "beside", "errors", "flight")

    def __init__(self, submit: Submit) -> None:
        self.flight = Flight(submit)
        self.beside: deque[tuple[int, errors.OpError | None]] = deque()
        """The segments that other threads have run, with their errors."""
        self.answers: deque[_Answer] = deque()
        self.answered: set[int] = set()
        self.errors: list[errors.OpError] = []
        self.flight.register(self.errors.append)


class PartRun:
    """One run of a part.

    `send(message, values)` sends a message and returns when the values may be reused.
    `done(fetches, error)` is called exactly once, in the thread of the last event, also if the part
    fails. The fetches are valid until `done` returns. `submit` is only called if the part has nodes
    that wait, or loops. Thread-safe.
    """

    def __init__(self, compiled: program.Program, send: Send, done: Done, submit: Submit) -> None:
        self._program = compiled
        self._send = send
        self._done = done
        self._context = compiled.take()
        self._state = state.StepState(compiled.plan)
        self._lock = threading.Lock()
        self._ready: deque[int] = deque()
        self._is_running = False
        self._ended = False
        self._waits: _Waits | None = None
        if compiled.waits or compiled.loops:
            self._waits = _Waits(submit)
            if self._context.watch is not None:
                self._context.watch([self._waits.errors])

    def start(self, feeds: program.Values) -> None:
        """Start the part with the values of `part.feeds`. Run its first segments if possible."""
        try:
            self._context.feed(feeds)
            with self._lock:
                self._ready.extend(self._state.start())
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
                if self._ended:
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
        """End the part with `error`, and cancel its waiting nodes and its loops.

        The results of a segment that is running are dropped.
        """
        self._end((), error, reusable=False)

    def _advance(self) -> None:
        """Run the segments that may run, here or elsewhere. The caller has set `_is_running`."""
        if self._waits is not None and self._program.loops:
            # A loop would keep this thread from noticing the end of the step.
            self._submit(self._waits)
        else:
            self._run()

    def _submit(self, waits: _Waits) -> bool:
        """Let another thread run the segments that may run. Return False if there is none."""
        try:
            waits.flight.submit(self._run)
        except RuntimeError as fault:  # the pool was shut down, or there is no thread
            self.fail(errors.from_exception(fault))
            return False
        return True

    def _run(self) -> None:
        """Run the segments that may run. The caller has set `_is_running`."""
        index: int | None = None
        try:
            while True:
                with self._lock:
                    if index is not None:
                        self._ready.extend(self._state.finish(index))
                    if self._waits is not None:
                        self._take_finished(self._waits)
                        self._take_answers(self._waits)
                    if self._ended or self._state.is_over:
                        break
                    if not self._ready:
                        self._is_running = False
                        return
                    index = self._ready.popleft()
                    others = self._take_others()
                for other in others:
                    self._program.submit(functools.partial(self._run_beside, other))
                self._run_segment(index)
            if not self._ended:
                self._end(self._program.fetch(self._context), None, reusable=True)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))

    def _take_others(self) -> Sequence[int]:
        """Return the segments that other threads run beside the one that this thread runs."""
        if not self._program.is_parallel:
            return ()
        others = tuple(self._ready)
        self._ready.clear()
        return others

    def _run_beside(self, index: int) -> None:
        """Run a segment in an inter-op thread, and note its end."""
        fault = None
        try:
            self._run_segment(index)
        except Exception as caught:  # noqa: BLE001 - the step's error
            fault = errors.from_exception(caught)
        waits = self._waits
        assert waits is not None
        with self._lock:
            waits.beside.append((index, fault))
            if self._ended or self._is_running:
                return
            self._is_running = True
        self._submit(waits)

    def _take_finished(self, waits: _Waits) -> None:
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

    def _start(self, waiting: int, waits: _Waits) -> None:
        """Start a waiting node. A node in a branch that is not taken answers at once."""
        done = functools.partial(self._answer, waits, waiting)
        if not self._program.start(self._context, waiting, done, waits.flight):
            done(None, None)

    def _take_answers(self, waits: _Waits) -> None:
        while waits.answers:
            waiting, outputs, error = waits.answers.popleft()
            if error is not None:
                raise self._program.failure(waiting, error)
            if outputs is not None:
                self._program.answer(self._context, waiting, outputs)
            self._ready.extend(self._state.answer(waiting))

    def _answer(
        self,
        waits: _Waits,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
    ) -> bool:
        """Note the answer of a waiting node, as `registry.Done`. A second answer is ignored."""
        with self._lock:
            if self._ended or waiting in waits.answered:
                return False
            waits.answered.add(waiting)
            waits.answers.append((waiting, outputs, error))
            if self._is_running:
                return True
            self._is_running = True
        return self._submit(waits)

    def _end(
        self, fetches: program.Values, error: errors.OpError | None, *, reusable: bool
    ) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        try:
            if error is not None and self._waits is not None:
                self._waits.flight.cancel(error)
        finally:
            self._done(fetches, error)
        if reusable:
            self._program.give_back(self._context)
