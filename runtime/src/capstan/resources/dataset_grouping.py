"""The datasets that group elements by a key.

Sources: core/kernels/data/experimental/group_by_{window,reducer}_dataset_op.cc.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.resources import dataset, dataset_ends, dataset_functions, dataset_windows, elements
from capstan.resources.dataset import Captured, Element
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class GroupByWindow(dataset.Unary):
    """The elements of the datasets that `reduce(key, window)` returns for windows of one key."""

    key: Captured
    reduce: Captured
    window_size: Captured

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        def begin(*results: Any) -> Iterator[Element]:
            return dataset_functions.dataset_in(results).start(run)

        groups = _Groups(self, run)
        return dataset.Flat(itertools.starmap(begin, groups), run)


class _Groups(Iterator[Element]):
    """The results of `reduce` for each window. It goes on after an error of its source."""

    def __init__(self, plan: GroupByWindow, run: Run) -> None:
        self._source = dataset_ends.UntilEnd(plan.source.start(run))
        self._spec, self._run = plan.source.spec, run
        self._key, self._reduce = plan.key.endless(run), plan.reduce.endless(run)
        self._window_size = plan.window_size.endless(run)
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
        rows = dataset_windows.Rows(self._spec, tuple(self._groups.pop(key)))
        return self._reduce(np.int64(key), elements.scalar(rows))


@dataclass(frozen=True, slots=True, eq=False)
class GroupByReducer(dataset.Unary):
    """One element for each key: `finalize` of the state that `reduce` computes from `init(key)`.

    The keys are in rising order.
    """

    key: Captured
    init: Captured
    reduce: Captured
    finalize: Captured

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Reduced(self, run)


class _Reduced(Iterator[Element]):
    """The results. The first call reads all elements. After an error it goes on with the next."""

    def __init__(self, plan: GroupByReducer, run: Run) -> None:
        self._source, self._run = plan.source.start(run), run
        self._key, self._init = plan.key.endless(run), plan.init.endless(run)
        self._reduce, self._finalize = plan.reduce.endless(run), plan.finalize.endless(run)
        self._states: dict[int, Element] = {}

    def __next__(self) -> Element:
        for element in self._source:
            self._run.check()
            key = int(self._key(*element)[0])
            state = self._states[key] if key in self._states else self._init(np.int64(key))
            self._states[key] = self._reduce(*state, *element)
        if not self._states:
            raise StopIteration
        return self._finalize(*self._states.pop(min(self._states)))
