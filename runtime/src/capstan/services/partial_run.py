"""A partial run: one step of a session, fed and fetched in portions (`Session.partial_run`)."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import node
from capstan.graph import portion
from capstan.services import signature, step

Array = np.ndarray[Any, Any]
Compiled = Callable[
    [portion.Plan, frozenset[str], frozenset[str]], tuple[portion.Portion, signature.Request]
]
"""Called with the plan, the nodes that have run, and the nodes to run now."""


class PartialRun:
    """One partial run. Thread-safe: portions run one after the other. A failed portion ends it."""

    def __init__(self, plan: portion.Plan, compiled: Compiled) -> None:
        self._plan = plan
        self._compiled = compiled
        self._lock = threading.Lock()
        self._unfed = set(plan.feeds)
        self._unfetched = set(plan.fetches)
        self._ran: frozenset[str] = frozenset()
        self._values: dict[node.Edge, Array] = {}
        self.is_over = False
        """Whether every feed was fed and every fetch fetched, or a portion failed."""

    def run(
        self,
        feeds: Mapping[node.Edge, Array],
        fetches: Sequence[node.Edge],
        steps: step.Steps,
        deadline: float | None,
    ) -> list[Array]:
        """Feed and fetch a portion; returns copies of the fetches, in order.

        Raises:
            InvalidArgumentError: a feed or fetch was not in the setup or is repeated, or a fetch
                needs a tensor that was not fed yet. The partial run continues.
            OpError: the portion failed, for the same reasons as a step.
        """
        with self._lock:
            self._check(feeds, fetches)
            self._unfed.difference_update(feeds)
            # Later portions read the values, and the caller may overwrite its arrays by then.
            self._values.update((edge, value.copy()) for edge, value in feeds.items())
            try:
                self._advance(steps, deadline)
            except errors.OpError:
                self.is_over = True
                raise
            self._unfetched.difference_update(fetches)
            self.is_over = not self._unfed and not self._unfetched
            return [self._values[edge].copy() for edge in fetches]

    def _check(self, feeds: Mapping[node.Edge, Array], fetches: Sequence[node.Edge]) -> None:
        if self.is_over:
            raise no_such_run()
        for edge in feeds:
            _require(edge, "feed", "fed", self._plan.feeds, self._unfed)
        for edge in fetches:
            _require(edge, "fetch", "fetched", self._plan.fetches, self._unfetched)
        pending = self._unfed.difference(feeds)
        for edge in fetches:
            feed = portion.awaited(self._plan, edge, pending)
            if feed is not None:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Fetch {feed.tensor} can't be computed from the feeds that have been fed "
                    "so far.",
                )

    def _advance(self, steps: step.Steps, deadline: float | None) -> None:
        """Run the nodes that need no other feed."""
        reached = portion.ready(self._plan, self._unfed)
        now = reached - self._ran
        if not now:
            return
        next_portion, request = self._compiled(self._plan, self._ran, now)
        fetched = request.run([self._values[edge] for edge in next_portion.feeds], steps, deadline)
        self._values.update(zip(next_portion.fetches, fetched, strict=True))
        self._ran = reached


def no_such_run() -> errors.InvalidArgumentError:
    """Return the error for an unknown handle, or for one of a partial run that is over."""
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
