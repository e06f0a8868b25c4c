"""Runs the steps of a session. A step runs a compiled signature on the tasks of a cluster.

If one thread of the caller's own task can run a whole step, `Steps` runs it in the caller's thread
(`services.alone`). Any other step is a `StepRun`.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from capstan import errors
from capstan.core import node
from capstan.executor import program
from capstan.services import alone, inbox, step_run
from capstan.transport import api
from capstan.transport import cancellation as cancellations


class Steps:
    """Runs the compiled steps of one session, and can cancel steps in flight. Thread-safe."""

    def __init__(
        self, links: api.Links, next_step: Callable[[], int], late_message: str | None = None
    ) -> None:
        """`late_message` replaces the usual message of a step whose deadline has passed."""
        self._late_message = late_message
        self._links = links
        self._next_step = next_step
        self._lock = threading.Lock()
        self._runs: set[step_run.StepRun | alone.WaitingRun] = set()
        self._closed = False

    def run(
        self,
        step: step_run.CompiledStep,
        feeds: step_run.Feeds,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> dict[node.Edge, step_run.Array]:
        """Run one step. Return copies of its fetches.

        A deadline, `close` or `cancellation` ends a waiting node at once, a loop after an
        iteration, and other nodes after their segment. A copy from a device is never ended early.
        After a waiting node has answered, a deadline ends only further waits and loops.

        Raises:
            OpError: the first error of any part.
            UnavailableError: a task does not answer.
            AbortedError: a task was restarted.
            DeadlineExceededError: `deadline` (seconds of `time.monotonic`) passed.
            CancelledError: the session was closed, or the call was cancelled.
        """
        local = step.local
        try:
            if not step.remotes and local is not None and local.turns:
                values = [feeds[edge] for edge in local.part.feeds]
                run = self._run_waiting if local.waits else self._run_alone
                return dict(
                    zip(local.part.fetches, run(local, values, deadline, cancellation), strict=True)
                )
            return self._run_in_flight(step, feeds, deadline, cancellation)
        except Exception as fault:  # noqa: BLE001 - the step's error
            if self._closed:
                raise cancelled_by_close() from None
            # A node, such as `Unbatch`, may have a deadline of its own.
            has_passed = deadline is not None and time.monotonic() >= deadline
            is_late = has_passed and isinstance(fault, errors.DeadlineExceededError)
            if is_late and self._late_message is not None:
                raise errors.DeadlineExceededError(None, None, self._late_message) from None
            raise errors.from_exception(fault) from fault.__cause__

    def _run_in_flight(
        self,
        step: step_run.CompiledStep,
        feeds: step_run.Feeds,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> dict[node.Edge, step_run.Array]:
        """Run a step that `close` and `cancellation` can end while it waits or loops."""
        flight = step_run.StepRun(step, self._links, self._next_step(), deadline)
        try:
            with self._in_flight(flight, cancellation) as confirm:
                return flight.execute(feeds, confirm)
        finally:
            flight.release()

    def _run_waiting(
        self,
        compiled: program.Program,
        feeds: program.Values,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> list[step_run.Array]:
        """Run a part with waiting nodes in the caller's thread. Return copies of its fetches."""
        flight = alone.WaitingRun(compiled, deadline)
        with self._in_flight(flight, cancellation) as confirm:
            return flight.execute(feeds, confirm)

    @contextlib.contextmanager
    def _in_flight(
        self,
        flight: step_run.StepRun | alone.WaitingRun,
        cancellation: cancellations.Cancellation | None,
    ) -> Iterator[alone.Confirm]:
        """Let `close` and `cancellation` cancel `flight`. Yield the `confirm` of its `execute`."""
        with self._lock:
            if self._closed:
                raise cancelled_by_close()
            self._runs.add(flight)
        try:
            if cancellation is None:
                yield _nothing
                return

            def confirm() -> errors.OpError | None:
                return None if cancellation.confirm() else _cancelled_by_client()

            def cancel() -> None:
                flight.cancel(_cancelled_by_client(), is_wanted=False)

            with cancellation.watched(cancel):
                yield confirm
        finally:
            with self._lock:
                self._runs.discard(flight)

    def _run_alone(
        self,
        compiled: program.Program,
        feeds: program.Values,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> list[step_run.Array]:
        """Run a part without waiting nodes in the caller's thread. Return copies of its fetches."""

        def check() -> None:
            if self._closed:
                raise cancelled_by_close()
            inbox.require_before(deadline)
            if cancellation is not None and cancellation.is_cancelled:
                raise _cancelled_by_client()

        return alone.run(compiled, feeds, check)

    def close(self) -> None:
        """End the steps in flight. Never blocks.

        A step raises CancelledError, unless all its parts succeed before they learn of the end.
        """
        for flight in self._take_runs():
            flight.cancel(cancelled_by_close(), is_wanted=True)

    def abandon(self) -> None:
        """End the steps in flight, whose fetches no client wants. They raise CancelledError."""
        for flight in self._take_runs():
            flight.cancel(cancelled_by_close(), is_wanted=False)

    def _take_runs(self) -> Sequence[step_run.StepRun | alone.WaitingRun]:
        """Refuse further steps, and return the steps in flight."""
        with self._lock:
            self._closed = True
            return list(self._runs)


def _nothing() -> None:
    pass


def cancelled_by_close() -> errors.CancelledError:
    """Return the error of a step whose session was closed."""
    return errors.CancelledError(
        None, None, "Step was cancelled by an explicit call to `Session::Close()`."
    )


def _cancelled_by_client() -> errors.CancelledError:
    return errors.CancelledError(None, None, "The client of the step cancelled it, or is gone")
