"""The elements of one dataset for several iterators, which get them in turn.

Element k belongs to iterator k modulo the number of iterators. An iterator that is ahead of the
others reads the elements of the others too and keeps them, up to a number for each. It then waits
until the others have taken theirs (core/kernels/data/multi_device_iterator_ops.cc).
"""

import functools
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from capstan import errors
from capstan.resources import dataset, dataset_run
from capstan.resources.dataset import Element, Spec
from capstan.resources.dataset_run import Run


class Deal:
    """One pass over `source`, whose elements `count` passes share. Thread-safe.

    At most `most` elements are kept for each of them.
    """

    def __init__(self, source: dataset.Dataset, count: int, most: int) -> None:
        self._source = source
        self._most = most
        self._lock = threading.Lock()
        self._room = threading.Condition(threading.Lock())
        self._takes = 0
        """How many elements the iterators have taken. Belongs to `_room`."""
        self._run = dataset_run.Run()
        self._elements: Iterator[Element] | None = None
        self._kept: list[deque[Element | errors.OpError]] = [deque() for _ in range(count)]
        self._next = 0
        self._open = set(range(count))

    def next(self, number: int, run: Run) -> Element:
        """Return the next element of iterator `number`.

        Blocks until the source has made it, while too many elements are kept for another iterator,
        or while `run` is paused. Other iterators go on then.

        Raises:
            StopIteration: there is none.
            OpError: the source failed in place of this element, or `run` has been stopped.
        """
        kept = self._kept[number]
        # A paused pass waits in `check`. It must not hold the lock, which the others need.
        run.check()
        # A kept element is taken without the lock, which another iterator may hold for long.
        while (found := _first(kept)) is None:
            with self._lock:
                takes = self._takes
                is_ahead = not kept and len(self._kept[self._next]) >= self._most
                if not kept and not is_ahead:
                    self._deal()
            if is_ahead:
                self._wait(takes, run)
            run.check()
        self._announce()
        if isinstance(found, errors.OpError):
            raise found
        return found

    def _announce(self) -> None:
        with self._room:
            self._takes += 1
            self._room.notify_all()

    def _wait(self, takes: int, run: Run) -> None:
        """Wait until the iterators have taken more than `takes` elements, or `run` is stopped."""

        def wake(_: errors.OpError) -> None:
            with self._room:
                self._room.notify_all()

        deregister = run.cancellation.register(wake)
        with self._room:
            self._room.wait_for(lambda: self._takes != takes or run.cancellation.error)
        deregister()

    def _deal(self) -> None:
        """Give the next element of the source to the iterator whose turn it is."""
        if self._elements is None:
            self._elements = self._source.start(self._run)
        try:
            found: Element | errors.OpError = next(self._elements)
        except errors.OpError as error:
            found = error
        self._kept[self._next].append(found)
        self._next = (self._next + 1) % len(self._kept)

    def close(self, number: int) -> None:
        """End the pass of an iterator. The last one ends the pass over the source. Never blocks."""
        self._open.discard(number)
        if not self._open:
            self._run.stop()


def _first(kept: deque[Element | errors.OpError]) -> Element | errors.OpError | None:
    """Remove and return the first element, or return None if another thread has taken the last."""
    try:
        return kept.popleft()
    except IndexError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Dealt(dataset.Dataset):
    """The elements of iterator `number`. A second pass goes on where the first has stopped."""

    spec: Spec
    deal: Deal
    number: int

    @property
    def may_block(self) -> bool:
        return True  # another thread may be reading the source

    def start(self, run: Run) -> Iterator[Element]:
        return _Turns(self, run)


class _Turns(Iterator[Element]):
    def __init__(self, plan: Dealt, run: Run) -> None:
        self._plan, self._run = plan, run
        run.close_with(self, functools.partial(plan.deal.close, plan.number))

    def __next__(self) -> Element:
        return self._plan.deal.next(self._plan.number, self._run)
