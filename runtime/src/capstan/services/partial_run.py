"""A partial run: one step of a session, fed and fetched in portions (`Session.partial_run`).

A thread runs the step, whose nodes wait for the feeds (`graph.portion`). A portion puts its feeds
into staging areas. It waits until the step has put the portion's fetches into other staging areas.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation as waits
from capstan.core import dtypes, node
from capstan.graph import portion
from capstan.resources import containers, staging_map, waiters
from capstan.services import inbox, signature, step
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]
Areas = Mapping[node.Edge, staging_map.StagingMap]
RunStep = Callable[[cancellations.Cancellation], object]
"""Runs the step of a partial run until it ends or is cancelled. Blocks."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The partial runs of one signature. They share the compiled step and the staging areas.

    The staging areas are resources of `device`, among `resources`.
    """

    setup: portion.Setup
    request: signature.Request
    resources: containers.ResourceManager
    device: str

    def begin(self, number: int, steps: step.Steps) -> "PartialRun":
        """Begin a partial run. No other partial run of the session has this `number`."""

        def run_step(cancellation: cancellations.Cancellation) -> None:
            self.request.run([np.array(number)], steps, None, cancellation)

        areas = {edge: self._area(edge) for edge in self.setup.areas}
        return PartialRun(self.setup, areas, number, run_step)

    def _area(self, edge: node.Edge) -> staging_map.StagingMap:
        """Return the staging area of a feed or a fetch."""
        name, types = self.setup.areas[edge]
        device = self.resources.devices.of(self.device).name
        area, _ = self.resources.registry.find(
            device,
            staging_map.KIND,
            name,
            lambda name: staging_map.StagingMap(name, types, 0, 0, is_ordered=False),
        )
        return area


class PartialRun:
    """One partial run. Thread-safe.

    Portions may run at the same time. If a portion fails, the partial run and all its portions end.
    The first portion starts the step.
    """

    def __init__(self, setup: portion.Setup, areas: Areas, number: int, run_step: RunStep) -> None:
        """`areas` are the staging areas of `setup`. In them, `number` is the key of this run."""
        self._setup = setup
        self._areas = areas
        self._number = number
        self._run_step = run_step
        self._changed = threading.Condition()
        self._unfed = set(setup.feeds)
        self._unfetched = set(setup.fetches)
        self._running = 0
        """The number of portions in progress."""
        self._is_started = self._is_done = False
        """Whether the step has started, and whether it has succeeded."""
        self._values: dict[node.Edge, Array | None] = {}
        """The fetches that portions wait for. A dead tensor is None."""
        self._fault: errors.OpError | None = None
        self._is_reported = False
        """Whether a portion has raised the fault."""
        self._ended = cancellations.Cancellation()
        self._area_waits = waits.Cancellation()
        """Ends the waits of the portions in the staging areas."""

    @property
    def is_over(self) -> bool:
        """Whether the partial run is complete, or a portion has raised its error."""
        with self._changed:
            return self._is_complete() or self._is_reported

    def _is_complete(self) -> bool:
        """Return whether every feed was fed and every fetch fetched. Needs the lock."""
        return self._is_done and not (self._unfed or self._unfetched or self._running)

    def run(
        self,
        feeds: Mapping[node.Edge, Array],
        fetches: Sequence[node.Edge],
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Feed the step and wait for fetches. Return copies of the fetches, in order.

        The last portion also waits for the end of the step.

        Raises:
            InvalidArgumentError: a feed or fetch was not in the setup or is repeated, a fetch needs
                a tensor that was not fed yet, or a feed has another dtype. The partial run
                continues.
            OpError: the step failed, perhaps before this portion, or another portion failed.
        """
        with self._changed:
            self._check(feeds, fetches)
            self._unfed.difference_update(feeds)
            self._unfetched.difference_update(fetches)
            is_last = not (self._unfed or self._unfetched)
            is_first, self._is_started = not self._is_started, True
            self._running += 1
        try:
            with contextlib.ExitStack() as watching:
                if cancellation is not None:
                    watching.enter_context(cancellation.watched(self._leave))
                if is_first:
                    thread = threading.Thread(target=self._execute, name="capstan-partial-run")
                    thread.daemon = True
                    thread.start()
                for edge, value in feeds.items():
                    indices = self._setup.areas[edge].indices()
                    self._areas[edge].put(self._number, indices, [value], _ignore, self._area_waits)
                for edge in dict.fromkeys(fetches):
                    indices = self._setup.areas[edge].indices()
                    take = functools.partial(self._take, edge)
                    self._areas[edge].get(self._number, indices, take, self._area_waits)
                self._wait(fetches, deadline, is_last=is_last)
            return [self._value(edge).copy() for edge in fetches]
        except Exception as fault:  # noqa: BLE001 - the error of the partial run
            self._fail(errors.from_exception(fault))
            raise self._reported() from None
        except BaseException:
            self._fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise
        finally:
            with self._changed:
                self._running -= 1
                for edge in fetches:
                    self._values.pop(edge, None)
            self._discard()

    def _check(self, feeds: Mapping[node.Edge, Array], fetches: Sequence[node.Edge]) -> None:
        """Raise an error if the partial run cannot take these feeds and fetches now."""
        if self._fault is not None and not self._is_reported:
            raise self._reported()
        if self.is_over:
            raise no_such_run()
        for edge in feeds:
            _require(edge, "feed", "fed", self._setup.feeds, self._unfed)
        for edge in fetches:
            _require(edge, "fetch", "fetched", self._setup.fetches, self._unfetched)
        for edge, value in feeds.items():
            expected = self._setup.areas[edge].types[0]
            if dtypes.as_dtype(value.dtype) is not expected:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The feed {edge.tensor} has dtype {dtypes.as_dtype(value.dtype).name}, but "
                    f"the tensor has dtype {expected.name}.",
                )
        pending = self._unfed.difference(feeds)
        for edge in fetches:
            feed = portion.awaited(self._setup, edge, pending)
            if feed is not None:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Fetch {feed.tensor} can't be computed from the feeds that have been fed "
                    "so far.",
                )

    def _execute(self) -> None:
        """Run the step, in a thread of its own."""
        try:
            self._run_step(self._ended)
        except BaseException as fault:  # noqa: BLE001 - the error of the partial run
            self._fail(errors.from_exception(fault))
        else:
            with self._changed:
                self._is_done = True
                self._changed.notify_all()
        self._discard()

    def _take(
        self,
        edge: node.Edge,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        _give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Receive a fetch of the step, as `waiters.Done`."""
        if error is not None:
            return True
        value, is_alive = outputs
        with self._changed:
            self._values[edge] = np.asarray(value) if is_alive else None
            self._changed.notify_all()
        return True

    def _wait(self, fetches: Sequence[node.Edge], deadline: float | None, *, is_last: bool) -> None:
        """Wait for the fetches, and in the last portion also for the end of the step.

        Raises:
            OpError: the step failed, or the deadline passed.
        """

        def is_met() -> bool:
            has_values = self._values.keys() >= set(fetches) and not is_last
            return has_values or self._is_done or self._fault is not None

        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        with self._changed:
            is_in_time = self._changed.wait_for(is_met, limit)
        if self._fault is not None:
            raise self._fault
        if not is_in_time:
            raise inbox.timed_out()

    def _value(self, edge: node.Edge) -> Array:
        value = self._values.get(edge)
        if value is None:
            raise errors.InvalidArgumentError(
                None, None, f"The tensor returned for {edge.tensor} was not valid."
            )
        return value

    def _leave(self) -> None:
        """End the partial run because the client of a portion is gone."""
        self._fail(errors.CancelledError(None, None, "The client of the step is gone"))

    def _fail(self, fault: errors.OpError) -> None:
        """End the step and every portion. The first fault is the error of the partial run."""
        with self._changed:
            first = self._fault = self._fault or fault
            self._changed.notify_all()
        self._ended.cancel()
        self._area_waits.cancel(first)

    def _reported(self) -> errors.OpError:
        """Return the error of the partial run, which the caller raises."""
        with self._changed:
            assert self._fault is not None
            self._is_reported = True
            return errors.from_code(self._fault.error_code, self._fault.message)

    def _discard(self) -> None:
        """Forget the values in the staging areas, if nobody needs them any more."""
        with self._changed:
            is_needed = not self._is_complete() and self._fault is None
        if not is_needed:
            for area in self._areas.values():
                area.discard(self._number)


def _ignore(
    _outputs: Sequence[Any],
    _error: errors.OpError | None,
    _give_back: waiters.GiveBack | None = None,
) -> bool:
    return True


def no_such_run() -> errors.InvalidArgumentError:
    """Return the error for a handle that is unknown, or whose partial run is over."""
    return errors.InvalidArgumentError(
        None, None, "Must run PartialRunSetup before performing partial runs"
    )


def _require(
    edge: node.Edge,
    kind: str,
    done: str,
    announced: Sequence[node.Edge],
    pending: set[node.Edge],
) -> None:
    if edge in pending:
        return
    fault = (
        f"has already been {done}"
        if edge in announced
        else ("was not specified in partial_run_setup")
    )
    raise errors.InvalidArgumentError(None, None, f"The {kind} {edge.tensor} {fault}.")
