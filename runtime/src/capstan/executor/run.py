"""One part in one step: moves values and calls the segments that `state` allows to run.

One thread at a time runs the segments of a part: the thread that delivered the event for which the
first of them waited. Events that arrive meanwhile are left to that thread. No thread waits here. A
node that waits, for example a dequeue, holds a callback and no thread. The thread that ends its
wait only notes the answer. If no thread runs segments of the part then, a new one is asked for with
`submit`. A chain of answers therefore never recurses, and a resource never runs the segments of the
steps that waited for it.
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


class PartRun:
    """One run of a part.

    `send(message, values)` sends a message and returns when the values may be reused.
    `done(fetches, error)` is called exactly once, in the thread of the last event, also if the part
    fails. The fetches are valid until `done` returns. `submit` is only called if the part has nodes
    that wait. Thread-safe.
    """

    def __init__(self, compiled: program.Program, send: Send, done: Done, submit: Submit) -> None:
        self._program = compiled
        self._send = send
        self._done = done
        self._flight = Flight(submit)
        self._context = compiled.take()
        self._state = state.StepState(compiled.plan)
        self._lock = threading.Lock()
        self._ready: deque[int] = deque()
        self._answers: deque[_Answer] = deque()
        self._answered: set[int] = set()
        self._is_running = False
        self._ended = False

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
        self._run()

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
        self._run()

    def fail(self, error: errors.OpError) -> None:
        """End the part with `error`, and cancel its waiting nodes.

        The results of a segment that is running are dropped.
        """
        self._end((), error, reusable=False)

    def _run(self) -> None:
        """Run the segments that may run. The caller has set `_is_running`."""
        try:
            self._run_segments()
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))

    def _run_segments(self) -> None:
        index: int | None = None
        while True:
            with self._lock:
                if index is not None:
                    self._ready.extend(self._state.finish(index))
                while self._answers:
                    self._take_answer(*self._answers.popleft())
                if self._state.is_over or self._ended:
                    break
                if not self._ready:
                    self._is_running = False
                    return
                index = self._ready.popleft()
            self._run_segment(index)
        if not self._ended:
            self._end(self._program.fetch(self._context), None, reusable=True)

    def _run_segment(self, index: int) -> None:
        layout = self._program.layout
        messages = self._program.run_segment(self._context, index)
        try:
            for message, values in zip(layout.sends[index], messages, strict=True):
                self._send(message, values)
        finally:
            self._program.release(index, messages)
        for waiting in layout.starts[index]:
            done = functools.partial(self._answer, waiting)
            if not self._program.start(self._context, waiting, done, self._flight):
                self._answer(waiting, None, None)

    def _take_answer(
        self, waiting: int, outputs: Sequence[Any] | None, error: errors.OpError | None
    ) -> None:
        if error is not None:
            raise self._program.failure(waiting, error)
        if waiting in self._answered:
            return
        self._answered.add(waiting)
        if outputs is not None:
            self._program.answer(self._context, waiting, outputs)
        self._ready.extend(self._state.answer(waiting))

    def _answer(
        self, waiting: int, outputs: Sequence[Any] | None, error: errors.OpError | None
    ) -> bool:
        """Note the answer of a waiting node, as `registry.Done`."""
        with self._lock:
            if self._ended:
                return False
            self._answers.append((waiting, outputs, error))
            if self._is_running:
                return True
            self._is_running = True
        try:
            self._flight.submit(self._run)
        except RuntimeError as fault:  # the pool was shut down, or there is no thread
            self.fail(errors.from_exception(fault))
            return False
        return True

    def _end(
        self, fetches: program.Values, error: errors.OpError | None, *, reusable: bool
    ) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        if error is not None:
            self._flight.cancel(error)
        self._done(fetches, error)
        if reusable:
            self._program.give_back(self._context)
