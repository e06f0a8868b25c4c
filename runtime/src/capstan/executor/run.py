"""One part in one step: moves values and calls the segments that `state` allows to run.

A segment runs in the thread that delivered its last missing event: the caller of the step, the
thread that reads a link, or the thread of a pushed message. No thread waits here.
"""

import threading
from collections.abc import Callable, Sequence

from capstan import errors
from capstan.executor import program, state
from capstan.partition import parts

Send = Callable[[parts.Message, program.Values], None]
Done = Callable[[program.Values, errors.OpError | None], None]


class PartRun:
    """One run of a part.

    `send(message, values)` sends a message and returns when the values may be reused.
    `done(fetches, error)` is called exactly once, in the thread of the last event, also if the part
    fails. The fetches are valid until `done` returns. Thread-safe.
    """

    def __init__(self, compiled: program.Program, send: Send, done: Done) -> None:
        self._program = compiled
        self._send = send
        self._done = done
        self._context = compiled.take()
        self._state = state.StepState(compiled.layout)
        self._lock = threading.Lock()
        self._ended = False

    def start(self, feeds: program.Values) -> None:
        """Start the part with the values of `part.feeds`. Run its first segments if possible."""
        try:
            self._context.feed(feeds)
            with self._lock:
                ready = self._state.start()
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))
            return
        self._run(ready)

    def arrive(self, number: int, values: program.Values) -> None:
        """Receive message `number`, and run the segments that waited for it.

        The values must stay valid until the part is done.
        """
        try:
            with self._lock:
                if self._ended:
                    return
                self._context.arrive[number](values)
                ready = self._state.arrive(number)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self.fail(errors.from_exception(fault))
            return
        self._run(ready)

    def fail(self, error: errors.OpError) -> None:
        """End the part with `error`. The results of a segment that is running are dropped."""
        self._end((), error, reusable=False)

    def _run(self, ready: Sequence[int]) -> None:
        while ready:
            (index,) = ready
            try:
                messages = self._program.run_segment(self._context, index)
                try:
                    for message, values in zip(
                        self._program.layout.sends[index], messages, strict=True
                    ):
                        self._send(message, values)
                finally:
                    self._program.release(index, messages)
            except Exception as fault:  # noqa: BLE001 - the step's error
                self.fail(errors.from_exception(fault))
                return
            with self._lock:
                ready = self._state.finish(index)
                is_over = self._state.is_over
            if is_over:
                self._finish()
                return

    def _finish(self) -> None:
        try:
            fetches = self._program.fetch(self._context)
        except errors.OpError as error:
            self.fail(error)
            return
        self._end(fetches, None, reusable=True)

    def _end(
        self, fetches: program.Values, error: errors.OpError | None, *, reusable: bool
    ) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._done(fetches, error)
        if reusable:
            self._program.give_back(self._context)
