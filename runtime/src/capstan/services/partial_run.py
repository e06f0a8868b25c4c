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
"""compiled(plan, nodes that ran, nodes to run now)"""


class PartialRun:
    """Thread-safe: portions take turns. A portion that fails ends it."""

    def __init__(self, whole: portion.Plan, compiled: Compiled) -> None:
        self._whole = whole
        self._compiled = compiled
        self._lock = threading.Lock()
        self._unfed = set(whole.feeds)
        self._unfetched = set(whole.fetches)
        self._ran: frozenset[str] = frozenset()
        self._values: dict[node.Edge, Array] = {}
        self.is_over = False
        """All was fed and fetched, or a portion failed."""

    def run(
        self,
        feeds: Mapping[node.Edge, Array],
        fetches: Sequence[node.Edge],
        steps: step.Steps,
        deadline: float | None,
    ) -> list[Array]:
        """Feed and fetch a portion; returns copies of the fetches, in order.

        Raises:
            InvalidArgumentError: a feed or fetch that was not announced, or not for the first time,
                or a fetch that waits for a feed. The run goes on.
            OpError: the portion failed, as a step does.
        """
        with self._lock:
            self._check(feeds, fetches)
            self._unfed.difference_update(feeds)
            # The caller goes on with its arrays, this run comes back to them.
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
            _require(edge, "feed", "fed", self._whole.feeds, self._unfed)
        for edge in fetches:
            _require(edge, "fetch", "fetched", self._whole.fetches, self._unfetched)
        pending = self._unfed.difference(feeds)
        for edge in fetches:
            feed = portion.awaited(self._whole, edge, pending)
            if feed is not None:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Fetch {feed.tensor} can't be computed from the feeds that have been fed "
                    "so far.",
                )

    def _advance(self, steps: step.Steps, deadline: float | None) -> None:
        """Run what waits for nothing any more."""
        reached = portion.ready(self._whole, self._unfed)
        now = reached - self._ran
        if not now:
            return
        todo, request = self._compiled(self._whole, self._ran, now)
        found = request.run([self._values[edge] for edge in todo.feeds], steps, deadline)
        self._values.update(zip(todo.fetches, found, strict=True))
        self._ran = reached


def no_such_run() -> errors.InvalidArgumentError:
    """The error for a handle of no partial run, or of one that is over."""
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
