"""The datasets that call functions: map, filter, flat_map, interleave and scan.

A function of map that raises OutOfRangeError ends its dataset, as in TensorFlow. Another function
that raises it fails.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.resources import dataset, dataset_ends
from capstan.resources.dataset import Block, Captured, Dataset, Element
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class _Calling(dataset.Unary):
    function: Captured

    @property
    def may_block(self) -> bool:
        return self.function.may_block or self.source.may_block


@dataclass(frozen=True, slots=True, eq=False)
class Map(_Calling):
    """The results of the function for each element."""

    def start(self, run: Run) -> Iterator[Element]:
        return itertools.starmap(self.function.bound(run), self.source.start(run))

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        function = self.function.over_blocks()
        blocks = None if function is None else self.source.blocks(run, size)
        return None if function is None or blocks is None else itertools.starmap(function, blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Filter(_Calling):
    """The elements for which the function returns true."""

    @property
    def may_block(self) -> bool:
        return True  # the function may return false for every element

    def start(self, run: Run) -> Iterator[Element]:
        filtered = _Filtered(self.function.endless(run), self.source.start(run), run)
        return dataset_ends.UntilEnd(filtered)


class _Filtered(Iterator[Element]):
    def __init__(self, predicate: Any, source: Iterator[Element], run: Run) -> None:
        self._predicate, self._source, self._run = predicate, source, run

    def __next__(self) -> Element:
        while True:
            self._run.check()
            element = next(self._source)
            if _truth(self._predicate(*element)):
                return element


@dataclass(frozen=True, slots=True, eq=False)
class TakeWhile(_Calling):
    """The elements before the first one for which the function returns false."""

    def start(self, run: Run) -> Iterator[Element]:
        function = self.function.endless(run)
        source = dataset_ends.UntilEnd(self.source.start(run))
        return itertools.takewhile(lambda element: _truth(function(*element)), source)


def _truth(results: Element) -> bool:
    (value,) = results
    if np.shape(value):
        raise errors.InvalidArgumentError(
            None, None, "Filter predicate `predicate` must return a scalar bool."
        )
    return bool(value)


@dataclass(frozen=True, slots=True, eq=False)
class FlatMap(_Calling):
    """The elements of the datasets that the function returns, one dataset after the other."""

    @property
    def may_block(self) -> bool:
        return True  # the datasets are only known when the function has returned them

    def start(self, run: Run) -> Iterator[Element]:
        function = self.function.endless(run)

        def begin(*element: Any) -> Iterator[Element]:
            return dataset_in(function(*element)).start(run)

        # After an error in the function, `starmap` goes on with the next element.
        return dataset.Flat(itertools.starmap(begin, self.source.start(run)), run)


def dataset_in(results: Element) -> Dataset:
    """Return the dataset that a function has returned.

    Raises:
        InvalidArgumentError: the function has returned something else.
    """
    returned = results[0].item()
    if not isinstance(returned, Dataset):
        raise errors.InvalidArgumentError(
            None, None, "The function of a dataset must return a dataset"
        )
    return returned


@dataclass(frozen=True, slots=True, eq=False)
class Interleave(_Calling):
    """The elements of the datasets that the function returns, `block` elements of each in turn.

    `cycle` datasets are open at a time ({interleave,parallel_interleave}_dataset_op.cc). If
    `is_parallel`, an error takes the place of an element, or of the elements of a dataset.
    """

    cycle: int
    block: int
    is_parallel: bool = False

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Interleaved(
            itertools.starmap(self.function.endless(run), self.source.start(run)),
            run,
            self.cycle,
            self.block,
            is_parallel=self.is_parallel,
        )


class _Interleaved(Iterator[Element]):
    def __init__(
        self, made: Iterator[Element], run: Run, cycle: int, block: int, *, is_parallel: bool
    ) -> None:
        self._made, self._run, self._block, self._is_parallel = made, run, block, is_parallel
        self._open: list[Iterator[Element] | None] = [None] * cycle
        self._place = 0
        self._taken = 0
        self._is_over = False

    def __next__(self) -> Element:
        while True:
            self._run.check()
            current = self._open[self._place]
            if current is not None:
                if self._taken == self._block:
                    self._advance()
                    continue
                if self._is_parallel:
                    self._taken += 1
                for element in current:
                    self._taken += not self._is_parallel
                    return element
                self._open[self._place] = None
                self._advance()
            elif not self._is_over:
                self._open[self._place] = self._following()
            elif any(self._open):
                self._advance()
            else:
                raise StopIteration

    def _following(self) -> Iterator[Element] | None:
        """Begin the next dataset, or return None at the end."""
        try:
            for results in self._made:
                return dataset_in(results).start(self._run)
        except Exception as fault:
            if not self._is_parallel:
                raise
            return _Failing(fault)
        self._is_over = True
        return None

    def _advance(self) -> None:
        self._place = (self._place + 1) % len(self._open)
        self._taken = 0


class _Failing(Iterator[Element]):
    """Raises an error once, and then ends."""

    def __init__(self, fault: Exception) -> None:
        self._faults = [fault]

    def __next__(self) -> Element:
        if self._faults:
            raise self._faults.pop()
        raise StopIteration


@dataclass(frozen=True, slots=True, eq=False)
class Scan(_Calling):
    """The results of the function for a state and each element.

    The function returns the next state and then the components.
    """

    initial: Element

    def start(self, run: Run) -> Iterator[Element]:
        return _Scanned(self.function.bound(run), self.initial, self.source.start(run))


class _Scanned(Iterator[Element]):
    def __init__(self, function: Any, state: Element, source: Iterator[Element]) -> None:
        self._function, self._state, self._source = function, state, source

    def __next__(self) -> Element:
        results = self._function(*self._state, *next(self._source))
        count = len(self._state)
        self._state = results[:count]
        following: Element = results[count:]
        return following


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreErrors(dataset.Unary):
    """The elements of `source` that raise no error."""

    @property
    def may_block(self) -> bool:
        return True  # every element may be an error

    def start(self, run: Run) -> Iterator[Element]:
        return dataset_ends.UntilEnd(_Ignoring(self.source.start(run), run))


class _Ignoring(Iterator[Element]):
    def __init__(self, source: Iterator[Element], run: Run) -> None:
        self._source, self._run = source, run

    def __next__(self) -> Element:
        while True:
            self._run.check()
            try:
                return next(self._source)
            except errors.OpError:
                pass
