"""A partial run: one step of a session, fed and fetched in portions (`Session.partial_run`)."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import node
from capstan.graph import portion
from capstan.services import inbox, signature, step
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]
Compiled = Callable[
    [portion.Setup, frozenset[str], frozenset[str]], tuple[portion.Portion, signature.Request]
]
"""Takes the setup, the nodes that have run, and the nodes to run now."""


class PartialRun:
    """One partial run. Thread-safe.

    Portions that need no value of each other run at the same time. A portion that fails ends the
    partial run, and so all its portions.
    """

    def __init__(self, setup: portion.Setup, compiled: Compiled) -> None:
        self._setup = setup
        self._compiled = compiled
        self._changed = threading.Condition()
        self._unfed = set(setup.feeds)
        self._unfetched = set(setup.fetches)
        self._started: frozenset[str] = frozenset()
        """The nodes of the portions that have begun."""
        self._portions: dict[cancellations.Cancellation, frozenset[str]] = {}
        """The nodes of the portions that run or wait for others."""
        self._values: dict[node.Edge, Array] = {}
        self._fault: errors.OpError | None = None

    @property
    def is_over(self) -> bool:
        """Whether every feed was fed and every fetch fetched, or a portion failed."""
        is_complete = not (self._unfed or self._unfetched or self._portions)
        return is_complete or self._fault is not None

    def run(
        self,
        feeds: Mapping[node.Edge, Array],
        fetches: Sequence[node.Edge],
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Feed and run a portion. Return copies of the fetches, in order.

        Raises:
            InvalidArgumentError: a feed or fetch was not in the setup or is repeated, or a fetch
                needs a tensor that was not fed yet. The partial run continues.
            OpError: this or another portion failed, for the same reasons as a step.
        """
        ended = cancellations.Cancellation()
        with self._changed:
            self._check(feeds, fetches)
            self._unfed.difference_update(feeds)
            self._unfetched.difference_update(fetches)
            # Later portions read the values, and the caller may overwrite its arrays by then.
            self._values.update((edge, value.copy()) for edge, value in feeds.items())
            earlier = self._started
            self._started = portion.ready(self._setup, self._unfed)
            self._portions[ended] = self._started - earlier
        try:
            with contextlib.ExitStack() as watching:
                watching.enter_context(ended.watched(self._wake))
                if cancellation is not None:
                    watching.enter_context(cancellation.watched(ended.cancel))
                self._advance(earlier, ended, steps, deadline)
                self._wait(lambda: self._values.keys() >= set(fetches), ended, deadline)
            return [self._values[edge].copy() for edge in fetches]
        except Exception as fault:  # noqa: BLE001 - the error of the partial run
            raise self._fail(errors.from_exception(fault)) from None
        except BaseException:
            self._fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise
        finally:
            with self._changed:
                del self._portions[ended]
                self._changed.notify_all()

    def _check(self, feeds: Mapping[node.Edge, Array], fetches: Sequence[node.Edge]) -> None:
        """Raise InvalidArgumentError if the partial run cannot take these feeds and fetches now."""
        if self.is_over:
            raise no_such_run()
        for edge in feeds:
            _require(edge, "feed", "fed", self._setup.feeds, self._unfed)
        for edge in fetches:
            _require(edge, "fetch", "fetched", self._setup.fetches, self._unfetched)
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

    def _advance(
        self,
        earlier: frozenset[str],
        ended: cancellations.Cancellation,
        steps: step.Steps,
        deadline: float | None,
    ) -> None:
        """Run the nodes of a portion. First wait for the nodes of `earlier` that they read.

        `earlier` are the nodes of the portions that began before this one.
        """
        now = self._portions[ended]
        if not now:
            return
        next_portion, request = self._compiled(self._setup, earlier, now)
        sources = portion.sources(self._setup, now) & earlier
        self._wait(lambda: sources.isdisjoint(self._running()), ended, deadline)
        feeds = [self._values[edge] for edge in next_portion.feeds]
        fetched = request.run(feeds, steps, deadline, ended)
        with self._changed:
            self._values.update(zip(next_portion.fetches, fetched, strict=True))
            self._portions[ended] = frozenset()
            self._changed.notify_all()

    def _running(self) -> frozenset[str]:
        return frozenset().union(*self._portions.values())

    def _wait(
        self,
        condition: Callable[[], bool],
        ended: cancellations.Cancellation,
        deadline: float | None,
    ) -> None:
        """Wait until other portions have made `condition` true.

        Raises:
            OpError: another portion failed, the caller is gone, or the deadline passed.
        """
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        with self._changed:
            is_met = self._changed.wait_for(
                lambda: self._fault is not None or ended.is_cancelled or condition(), limit
            )
        if self._fault is not None:
            raise self._fault
        if ended.is_cancelled:
            raise errors.CancelledError(None, None, "The client of the step is gone")
        if not is_met:
            raise inbox.timed_out()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _fail(self, fault: errors.OpError) -> errors.OpError:
        """End every portion, and return the first error of the partial run."""
        with self._changed:
            self._fault = self._fault or fault
            portions = list(self._portions)
        for ended in portions:
            ended.cancel()
        return errors.from_code(self._fault.error_code, self._fault.message)


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
