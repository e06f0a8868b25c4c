"""The dataset that shuffles another dataset (core/kernels/data/shuffle_dataset_op.cc)."""

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from capstan import errors
from capstan.resources import dataset, dataset_blocks, philox
from capstan.resources.dataset import Block, Element
from capstan.resources.dataset_blocks import Row
from capstan.resources.dataset_run import Run

_MAX_EPOCHS: Final = 3
"""The number of whole epochs in a buffer (`kMaxEpochsInBuffer`)."""


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
        return self._shuffled(lambda: self.source.start(run), run)

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        if not all(dtype.is_numpy_compatible for dtype in self.spec.types):
            return None
        first = self.source.blocks(run, size)
        if first is None:
            return None
        begun = [first]

        def begin() -> Iterator[dataset_blocks.Row]:
            blocks = begun.pop() if begun else self.source.blocks(run, size)
            assert blocks is not None
            return dataset_blocks.Rows(blocks)

        shuffled = self._shuffled(begin, run)

        def block() -> Block | None:
            rows = shuffled.take(size)
            return dataset_blocks.stacked(rows, self.spec) if rows else None

        return dataset_blocks.Blocks(block)

    def _shuffled(self, begin: Callable[[], Iterator[Row]], run: Run) -> "_Shuffled":
        """Return the rows in random order. `begin` starts an epoch of the source."""
        seeds: Sequence[int] = self.seeds
        if seeds == (0, 0):
            seeds = run.keep(self, "seeds", lambda: (run.seed(), run.seed()))
        if self.reshuffles:
            parent = run.keep(self, "generator", functools.partial(philox.numbers, *seeds))
            seeds = run.draw(parent, 2)
        epochs = iter(begin, None)
        limited = epochs if self.count < 0 else itertools.islice(epochs, self.count)
        return _Shuffled(limited, self.size, philox.numbers(*seeds), run)


class _Shuffled(Iterator[Row]):
    """Draws from a ring buffer whose slices belong to one epoch each (shuffle_dataset_op.cc).

    If `take` is used, the epochs are `dataset_blocks.Rows`.
    """

    def __init__(
        self, epochs: Iterator[Iterator[Row]], size: int, numbers: Iterator[int], run: Run
    ) -> None:
        self._epochs, self._run = epochs, run
        self._size = size
        self._numbers = numbers
        self._source: Iterator[Row] | None = None
        self._buffer: list[Any] = []
        self._slices: deque[list[int]] = deque()
        self._held = 0
        self._error: errors.OpError | None = None

    def take(self, count: int) -> list[Row]:
        """Return the next rows, up to `count` rows, or none at the end.

        Raises:
            OpError: the next row of the source is an error. The call before returned the rows
                before it.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        found: list[Row] = []
        try:
            while len(found) < count:
                rows = self._exchanged(count - len(found)) or list(itertools.islice(self, 1))
                if not rows:
                    break
                found += rows
        except errors.OpError as error:
            if not found:
                raise
            self._error = error
        return found

    def _exchanged(self, count: int) -> list[Row]:
        """Draw up to `count` rows, each after a row of the source has come into the buffer.

        Return no row unless the buffer is full but for one row.
        """
        buffer, slices, size = self._buffer, self._slices, self._size
        if self._source is None or not self._held == size - 1 == len(buffer) - 1:
            return []
        self._run.check()
        assert isinstance(self._source, dataset_blocks.Rows)
        found, last = [], slices[-1]
        for row, drawn in zip(self._source.take(count), self._numbers, strict=False):
            end = last[1]
            buffer[end % size] = row
            last[1] = end + 1
            while (place := slices[0])[0] == place[1]:
                slices.popleft()
            start, end = place
            index, head = (start + drawn % (end - start)) % size, start % size
            found.append(buffer[index])
            buffer[index], buffer[head] = buffer[head], None
            place[0] = start + 1
        return found

    def __next__(self) -> Row:
        self._run.check()
        if self._source is not None and self._held == self._size - 1 and self._held:
            # The common case: one row comes, and another goes.
            for row in self._source:
                self._put(row)
                return self._draw()
        self._fill()
        if not self._held:
            raise StopIteration
        return self._draw()

    def _draw(self) -> Row:
        buffer, slices, size = self._buffer, self._slices, self._size
        while slices[0][0] == slices[0][1]:
            slices.popleft()
        place = slices[0]
        start, end = place
        index = (start + next(self._numbers) % (end - start)) % size
        head = start % size
        row: Row = buffer[index]
        buffer[index], buffer[head] = buffer[head], None
        place[0] = start + 1
        self._held -= 1
        return row

    def _fill(self) -> None:
        """Fill the buffer, but not with the elements of more epochs than TensorFlow holds.

        Unless the buffer is full or the input has ended, this reads at least one element. A large
        buffer of many epochs would take all memory.
        """
        while self._held < self._size:
            self._run.check()
            if self._source is None:
                self._source = next(self._epochs, None)
                if self._source is None:
                    return
                end = self._slices[-1][1] if self._slices else 0
                self._slices.append([end, end])
            for row in self._source:
                self._put(row)
                if len(self._slices) > _MAX_EPOCHS:
                    return
                break
            else:
                self._source = None
                if self._slices[-1][1] == 0:  # the first epoch was empty, so all of them are
                    self._epochs = iter(())

    def _put(self, row: Row) -> None:
        last = self._slices[-1]
        end = last[1]
        if len(self._buffer) < self._size:
            self._buffer.append(row)
        else:
            self._buffer[end % self._size] = row
        last[1] = end + 1
        self._held += 1
