"""The datasets that call functions: map, filter, flat_map, interleave, scan and generators.

A function that raises OutOfRangeError ends its dataset, as in TensorFlow.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.resources import dataset, dataset_batch, elements
from capstan.resources.dataset import Block, Captured, Dataset, Element, Run, Spec


@dataclass(frozen=True, slots=True, eq=False)
class _Calling(dataset.Dataset):
    spec: Spec
    source: Dataset
    function: Captured

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source,)

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
        return True  # no element may be true

    def start(self, run: Run) -> Iterator[Element]:
        return _Filtered(self.function.bound(run), self.source.start(run), run)


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
        function = self.function.bound(run)
        return itertools.takewhile(
            lambda element: _truth(function(*element)), self.source.start(run)
        )


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
        return True  # the datasets are not known before

    def start(self, run: Run) -> Iterator[Element]:
        function = self.function.bound(run)

        def begin(*element: Any) -> Iterator[Element]:
            return _dataset(function(*element)).start(run)

        # After an error in the function, `starmap` goes on with the next element.
        return dataset.Flat(itertools.starmap(begin, self.source.start(run)), run)


def _dataset(results: Element) -> Dataset:
    found = results[0].item()
    if not isinstance(found, Dataset):
        raise errors.InvalidArgumentError(
            None, None, "The function of a dataset must return a dataset"
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Interleave(_Calling):
    """The elements of the datasets that the function returns, `block` elements of each in turn.

    `cycle` datasets are open at a time (interleave_dataset_op.cc).
    """

    cycle: int
    block: int

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Interleaved(
            itertools.starmap(self.function.bound(run), self.source.start(run)),
            run,
            self.cycle,
            self.block,
        )


class _Interleaved(Iterator[Element]):
    def __init__(self, made: Iterator[Element], run: Run, cycle: int, block: int) -> None:
        self._made, self._run, self._block = made, run, block
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
                self._taken += 1
                for element in current:
                    return element
                self._open[self._place] = None
                self._advance()
            elif not self._is_over:
                for results in self._made:
                    self._open[self._place] = _dataset(results).start(self._run)
                    break
                else:
                    self._is_over = True
            elif any(self._open):
                self._advance()
            else:
                raise StopIteration

    def _advance(self) -> None:
        self._place = (self._place + 1) % len(self._open)
        self._taken = 0


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
class Generator(dataset.Dataset):
    """Elements from `following(state)` until it ends. `begin()` returns the state.

    `end(state)` is called after the last element, or when the pass is stopped.
    """

    spec: Spec
    begin: Captured
    following: Captured
    end: Captured

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Generated(self, run)


class _Generated(Iterator[Element]):
    def __init__(self, plan: Generator, run: Run) -> None:
        self._plan, self._run = plan, run
        self._following = plan.following.bound(run)
        self._state: Element | None = None
        self._close: Callable[[], None] | None = None
        self._is_over = False

    def __next__(self) -> Element:
        if self._is_over:
            raise StopIteration
        if self._state is None:
            self._run.check()
            self._state = self._plan.begin.bound(self._run)()
            self._close = self._run.close_with(self, _ending(self._plan, self._state))
        try:
            return self._following(*self._state)
        except StopIteration:
            self._is_over = True
            if self._close is not None:
                self._close()
            raise


def _ending(plan: Generator, state: Element) -> Callable[[], None]:
    """Return the function that ends a generator, even after the pass is stopped."""

    def end() -> None:
        with contextlib.suppress(errors.OpError):  # TensorFlow logs the error
            plan.end.bound(Run())(*state)

    return end


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreErrors(dataset.Dataset):
    """The elements of `source` that raise no error."""

    spec: Spec
    source: Dataset

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source,)

    @property
    def may_block(self) -> bool:
        return True  # every element may be an error

    def start(self, run: Run) -> Iterator[Element]:
        return _Ignoring(self.source.start(run), run)


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


@dataclass(frozen=True, slots=True, eq=False)
class GroupByWindow(dataset.Dataset):
    """The elements of the datasets that `reduce(key, window)` returns for windows of one key."""

    spec: Spec
    source: Dataset
    key: Captured
    reduce: Captured
    window_size: Captured

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source,)

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        def begin(*results: Any) -> Iterator[Element]:
            return _dataset(results).start(run)

        groups = _Groups(self, run)
        return dataset.Flat(itertools.starmap(begin, groups), run)


class _Groups(Iterator[Element]):
    """The results of `reduce` for each window. It goes on after an error of its source."""

    def __init__(self, plan: GroupByWindow, run: Run) -> None:
        self._source, self._spec, self._run = plan.source.start(run), plan.source.spec, run
        self._key, self._reduce = plan.key.bound(run), plan.reduce.bound(run)
        self._window_size = plan.window_size.bound(run)
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}

    def __next__(self) -> Element:
        for element in self._source:
            self._run.check()
            key = int(self._key(*element)[0])
            size = self._size(key)
            group = self._groups.setdefault(key, [])
            group.append(element)
            if len(group) == size:
                return self._window(key)
        if not self._groups:
            raise StopIteration
        return self._window(min(self._groups))

    def _size(self, key: int) -> int:
        if key not in self._sizes:
            size = int(self._window_size(np.int64(key))[0])
            if size <= 0:
                raise errors.InvalidArgumentError(
                    None, None, f"Window size must be greater than zero, but got {size}."
                )
            self._sizes[key] = size
        return self._sizes[key]

    def _window(self, key: int) -> Element:
        rows = dataset_batch.Rows(self._spec, tuple(self._groups.pop(key)))
        return self._reduce(np.int64(key), elements.scalar(rows))
