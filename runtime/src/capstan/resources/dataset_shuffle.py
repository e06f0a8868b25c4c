"""The dataset that shuffles another dataset (core/kernels/data/shuffle_dataset_op.cc)."""

import functools
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.resources import dataset, philox
from capstan.resources.dataset import Element, Run


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle(dataset.Unary):
    """The elements in random order: each is drawn from a buffer of `size` elements.

    With seeds other than (0, 0), the order is TensorFlow's. If `reshuffles`, each pass within a
    `Run` has another order. `count` repeats the shuffled elements with a buffer that does not run
    empty between two epochs.
    """

    size: int
    seeds: tuple[int, int]
    reshuffles: bool = True
    count: int = 1

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.size > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        seeds: Sequence[int] = self.seeds
        if seeds == (0, 0):
            seeds = run.keep(self, "seeds", lambda: (run.seed(), run.seed()))
        if self.reshuffles:
            parent = run.keep(self, "generator", functools.partial(philox.numbers, *seeds))
            seeds = run.draw(parent, 2)
        epochs = iter(lambda: self.source.start(run), None)
        limited = epochs if self.count < 0 else itertools.islice(epochs, self.count)
        return _Shuffled(limited, self.size, philox.numbers(*seeds), run)


class _Shuffled(Iterator[Element]):
    """Draws from a ring buffer whose slices belong to one epoch each (shuffle_dataset_op.cc)."""

    def __init__(
        self, epochs: Iterator[Iterator[Element]], size: int, numbers: Iterator[int], run: Run
    ) -> None:
        self._epochs, self._run = epochs, run
        self._size = size
        self._numbers = numbers
        self._source: Iterator[Element] | None = None
        self._buffer: list[Any] = []
        self._slices: deque[list[int]] = deque()
        self._held = 0

    def __next__(self) -> Element:
        self._fill()
        if not self._held:
            raise StopIteration
        while self._slices[0][0] == self._slices[0][1]:
            self._slices.popleft()
        place, buffer = self._slices[0], self._buffer
        start, end = place
        index = (start + next(self._numbers) % (end - start)) % self._size
        head = start % self._size
        element: Element = buffer[index]
        buffer[index], buffer[head] = buffer[head], None
        place[0] += 1
        self._held -= 1
        return element

    def _fill(self) -> None:
        while self._held < self._size:
            self._run.check()
            if self._source is None:
                self._source = next(self._epochs, None)
                if self._source is None:
                    return
                end = self._slices[-1][1] if self._slices else 0
                self._slices.append([end, end])
            for element in self._source:
                self._put(element)
                break
            else:
                self._source = None
                if self._slices[-1][1] == 0:  # the first epoch was empty, so all of them are
                    self._epochs = iter(())

    def _put(self, element: Element) -> None:
        end = self._slices[-1][1]
        if len(self._buffer) < self._size:
            self._buffer.append(element)
        else:
            self._buffer[end % self._size] = element
        self._slices[-1][1] += 1
        self._held += 1
