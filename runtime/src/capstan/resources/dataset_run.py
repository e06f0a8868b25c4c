"""A pass over a dataset (core/framework/dataset.h: `IteratorContext`).

A dataset is a plan without a position. The objects that its elements need for one pass belong to
the `Run` of the pass.
"""

import itertools
import random
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation


class Run:
    """One pass of an iterator over its dataset, from its initializer to the next. Thread-safe.

    The parts of the pass share the objects that it keeps. `stop` ends the pass: the threads of the
    pass, the operations that wait, and each loop that makes no element.
    """

    def __init__(self, seeds: Sequence[int] = ()) -> None:
        """`seeds` are the first random seeds that the pass draws, if it repeats another pass."""
        self.cancellation = cancellation.Cancellation()
        self._lock = threading.RLock()
        self._resumed = threading.Condition(self._lock)
        self._seeds = list(seeds)
        self._drawn = 0
        self._kept: dict[tuple[int, str], tuple[object, Any]] = {}
        self._is_paused = False
        self._is_stopped = False
        self._is_held = False
        self.measure: Callable[[str, float], None] | None = None
        """Takes what a part of the dataset measures, and its tag. None if nobody wants to know."""

    @property
    def seeds(self) -> list[int]:
        """The random seeds that the pass has drawn."""
        with self._lock:
            return self._seeds[: self._drawn]

    def seed(self) -> int:
        """Return a random seed of 31 bits."""
        with self._lock:
            if self._drawn == len(self._seeds):
                self._seeds.append(random.SystemRandom().getrandbits(31) or 1)
            self._drawn += 1
            return self._seeds[self._drawn - 1]

    def keep(self, owner: object, name: str, make: Callable[[], Any]) -> Any:
        """Return the object that `owner` keeps for the pass. The first call makes it."""
        key = id(owner), name
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (owner, make())
            return self._kept[key][1]

    def draw(self, numbers: Iterator[int], count: int) -> tuple[int, ...]:
        """Return the next `count` numbers of an iterator that several threads share."""
        with self._lock:
            return tuple(itertools.islice(numbers, count))

    def check(self) -> None:
        """Check that the pass goes on. Every loop that may make no element calls this.

        Blocks while the pass is paused.

        Raises:
            CancelledError: the pass is stopped.
        """
        if self._is_held:
            self._wait()

    def _wait(self) -> None:
        with self._resumed:
            while self._is_paused and not self._is_stopped:
                self._resumed.wait()
            if self._is_stopped:
                raise stopped()

    def pause(self) -> None:
        """Let loops that look for an element wait, because no step wants an element any more."""
        with self._lock:
            self._is_paused = self._is_held = True

    def resume(self) -> None:
        """Let the loops of a paused pass go on."""
        if self._is_paused:
            with self._resumed:
                self._is_paused = False
                self._is_held = self._is_stopped
                self._resumed.notify_all()

    def close_with(self, owner: object, close: Callable[[], None]) -> Callable[[], None]:
        """Call `close` once: when the pass is stopped, or when nothing refers to `owner`.

        `close` must not refer to `owner`, block or raise. Return the function that calls it now.
        """
        is_closed: list[bool] = []

        def close_once(_: object = None) -> None:
            with self._lock:
                if is_closed:
                    return
                is_closed.append(True)
            close()

        deregister = self.cancellation.register(close_once)

        def end() -> None:
            deregister()
            close_once()

        weakref.finalize(owner, end).atexit = False
        return end

    def stop(self) -> None:
        """End the pass. Does not block."""
        with self._resumed:
            self._is_stopped = self._is_held = True
            self._resumed.notify_all()
        self.cancellation.cancel(stopped())


def stopped() -> errors.OpError:
    """Return the error of a call whose pass has been stopped."""
    return errors.CancelledError(None, None, "The iterator was closed or initialized again")
