"""Run a part in the calling thread alone, segment after segment.

This suits parts that exchange no messages, and whose nodes wait for nothing but a copy to the host.
The thread would have nothing else to do while the device copies, so it waits for the device itself.
Such a step needs no lock, no queue and no other thread.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.executor import faults, program


def run_segments(
    compiled: program.Program, context: program.Context, check: Callable[[], None]
) -> None:
    """Run all segments of a part that has got its feeds, and wait for its copies to the host.

    `compiled.runs_alone` must be true. Blocks. Calls `check` after each segment and at the end. An
    error that `check` raises ends the part.

    Raises:
        OpError: a kernel or a copy failed. The message names the node.
    """
    try:
        _run(compiled, context, check)
    except Exception as fault:
        faults.forget_frames(fault)
        raise


def _run(compiled: program.Program, context: program.Context, check: Callable[[], None]) -> None:
    layout = compiled.layout
    departures = _Departures(compiled, context) if layout.waiting else None
    for index in range(len(layout.keys)):
        if departures is not None and layout.awaits[index]:
            departures.finish()
        compiled.run_segment(context, index)
        if departures is not None:
            for waiting in layout.starts[index]:
                departures.start(waiting)
        check()
    if departures is not None:
        departures.finish()
        check()


class _Departures:
    """The copies to the host that a part has started and not yet waited for."""

    def __init__(self, compiled: program.Program, context: program.Context) -> None:
        self._compiled = compiled
        self._context = context
        self._waits: list[Callable[[], None]] = []
        self._cancellation = cancellation.Cancellation(self._waits.append)
        self._failure: errors.OpError | None = None

    def start(self, waiting: int) -> None:
        """Let the device copy. A copy in a branch that is not taken has no output."""
        done = functools.partial(self._answer, waiting)
        self._compiled.start(self._context, waiting, done, self._cancellation)

    def finish(self) -> None:
        """Wait until the copies are done.

        Raises:
            OpError: a copy failed. The message names the node.
        """
        while self._waits:
            self._waits.pop()()  # The last wait is the longest.
        if self._failure is not None:
            raise self._failure

    def _answer(
        self,
        waiting: int,
        outputs: Sequence[Any] | None,
        error: errors.OpError | None,
        _: Any = None,
    ) -> bool:
        """Take the output of a copy, as `registry.Done`."""
        if error is not None:
            self._failure = self._compiled.failure(waiting, error)
        elif outputs is not None:
            self._compiled.answer(self._context, waiting, outputs)
        return True
