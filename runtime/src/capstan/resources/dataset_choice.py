"""The datasets that choose elements of several datasets, distinct elements, or random numbers.

Sources: core/kernels/data/experimental/{directed_interleave,unique,random}_dataset_op.cc.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.resources import dataset, philox
from capstan.resources.dataset import Dataset, Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Directed(dataset.Dataset):
    """Elements of `sources`. Each number in `selector` chooses the dataset of one element.

    If a dataset is at its end, its numbers are skipped. If `stops_at_empty`, its next number ends
    this dataset.
    """

    spec: Spec
    selector: Dataset
    sources: tuple[Dataset, ...]
    stops_at_empty: bool

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.selector, *self.sources)

    @property
    def may_block(self) -> bool:
        return True  # the selector may go on for long after the end of a dataset

    def start(self, run: Run) -> Iterator[Element]:
        return _Directed(self, run)


class _Directed(Iterator[Element]):
    def __init__(self, plan: Directed, run: Run) -> None:
        self._plan, self._run = plan, run
        self._selector = plan.selector.start(run)
        self._open: list[Iterator[Element] | None] = [each.start(run) for each in plan.sources]

    def __next__(self) -> Element:
        while any(each is not None for each in self._open):
            self._run.check()
            (number,) = next(self._selector)
            if not 0 <= number < len(self._open):
                raise errors.InvalidArgumentError(
                    None, None, f"Selector index out of range: {number} >= {len(self._open)}"
                )
            chosen = self._open[number]
            if chosen is None:
                continue
            for element in chosen:
                return element
            self._open[number] = None
            if self._plan.stops_at_empty:
                self._open = []
        raise StopIteration


@dataclass(frozen=True, slots=True, eq=False)
class Unique(dataset.Unary):
    """The elements of `source` that equal no earlier element. They have one component."""

    @property
    def may_block(self) -> bool:
        return True  # all elements may be equal

    def start(self, run: Run) -> Iterator[Element]:
        return _Unique(self.source.start(run), run)


class _Unique(Iterator[Element]):
    def __init__(self, source: Iterator[Element], run: Run) -> None:
        self._source, self._run = source, run
        self._seen: set[Any] = set()

    def __next__(self) -> Element:
        while True:
            self._run.check()
            element = next(self._source)
            array = np.asarray(element[0])
            content = tuple(array.flat) if array.dtype == object else array.tobytes()
            key = (array.shape, content)
            if key not in self._seen:
                self._seen.add(key)
                return element


@dataclass(frozen=True, slots=True, eq=False)
class Random(dataset.Dataset):
    """Endless random numbers of 32 bits, as int64. Two seeds of zero stand for random seeds.

    If it `changes`, each pass within a `Run` has other numbers.
    """

    spec: Spec
    seeds: tuple[int, int]
    changes: bool = False

    def start(self, run: Run) -> Iterator[Element]:
        seeds: Sequence[int] = self.seeds
        if seeds == (0, 0):
            seeds = run.keep(self, "seeds", lambda: (run.seed(), run.seed()))
        if self.changes:
            parent = run.keep(self, "generator", functools.partial(philox.numbers, *seeds))
            seeds = run.draw(parent, 2)
        return ((np.int64(number),) for number in philox.numbers(*seeds))
