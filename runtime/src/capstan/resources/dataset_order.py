"""The datasets that choose and order the elements of other datasets, and change none of them.

repeat, take, skip, shard, concatenate and zip (core/kernels/data/*_dataset_op.cc).
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from capstan import errors
from capstan.resources import dataset, dataset_ends
from capstan.resources.dataset import Block, Dataset, Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Same(dataset.Unary):
    """The elements of `source`: for the ops that only tune how TensorFlow runs a dataset."""

    def start(self, run: Run) -> Iterator[Element]:
        return self.source.start(run)

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        return self.source.blocks(run, size)


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(dataset.Unary):
    """The elements of `source`, `count` times, or without end if `count` is negative."""

    count: int

    def start(self, run: Run) -> Iterator[Element]:
        return _Epochs(lambda: self.source.start(run), self.count, run)

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        first = self.source.blocks(run, size)
        if first is None:
            return None
        begun = [first]
        return _Epochs(lambda: begun.pop() if begun else self._more(run, size), self.count, run)

    def _more(self, run: Run, size: int) -> Iterator[Block]:
        blocks = self.source.blocks(run, size)
        assert blocks is not None
        return blocks


class _Epochs(Iterator[Any]):
    """The values of one iterator after the other. An endless repetition ends at an empty epoch."""

    def __init__(self, start: Callable[[], Iterator[Any]], count: int, run: Run) -> None:
        self._start, self._run = start, run
        self._left = count
        self._epoch: Iterator[Any] | None = None
        self._is_empty = True

    def __next__(self) -> Any:
        while True:
            if self._epoch is None:
                if self._left == 0:
                    raise StopIteration
                self._run.check()
                self._left -= 1
                self._epoch, self._is_empty = self._start(), True
            for value in self._epoch:
                self._is_empty = False
                return value
            self._epoch = None
            if self._is_empty and self._left < 0:
                self._left = 0


@dataclass(frozen=True, slots=True, eq=False)
class Take(dataset.Unary):
    """The first `count` elements, or all if `count` is negative."""

    count: int

    def start(self, run: Run) -> Iterator[Element]:
        source = self.source.start(run)
        return dataset_ends.UntilEnd(source if self.count < 0 else _Taken(source, self.count))

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        blocks = self.source.blocks(run, size)
        return blocks if blocks is None or self.count < 0 else _part(blocks, run, 0, self.count)


class _Taken(Iterator[Element]):
    """The first elements. Unlike `itertools.islice`, it goes on after an error of its source."""

    def __init__(self, source: Iterator[Element], count: int) -> None:
        self._source, self._left = source, count

    def __next__(self) -> Element:
        if not self._left:
            raise StopIteration
        element = next(self._source)
        self._left -= 1
        return element


@dataclass(frozen=True, slots=True, eq=False)
class Skip(dataset.Unary):
    """The elements after the first `count`, or none if `count` is negative."""

    count: int

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.count > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        if self.count < 0:
            return iter(())
        return dataset_ends.UntilEnd(_Skipped(self.source.start(run), self.count, run))

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        blocks = self.source.blocks(run, size)
        if blocks is None:
            return None
        return iter(()) if self.count < 0 else _part(blocks, run, self.count, None)


class _Skipped(Iterator[Element]):
    """Skips when the first element is asked for. An error in a skipped element is raised."""

    def __init__(self, source: Iterator[Element], count: int, run: Run) -> None:
        self._source, self._left, self._run = source, count, run

    def __next__(self) -> Element:
        while self._left:
            self._run.check()
            self._left -= 1
            next(self._source)
        return next(self._source)


def _part(blocks: Iterator[Block], run: Run, start: int, stop: int | None) -> Iterator[Block]:
    """Yield the elements from `start` to before `stop`."""
    seen = 0
    if stop == 0:
        return
    for block in blocks:
        run.check()
        count = len(block[0])
        low, high = max(start - seen, 0), count if stop is None else min(stop - seen, count)
        if low < high:
            yield block if high - low == count else tuple(values[low:high] for values in block)
        seen += count
        if stop is not None and seen >= stop:
            return


@dataclass(frozen=True, slots=True, eq=False)
class Shard(dataset.Unary):
    """The elements whose number modulo `count` is `index`.

    If `has_all_parts`, it is an error if `source` has fewer than `count` elements.
    """

    count: int
    index: int
    has_all_parts: bool = False

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.count > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        return dataset_ends.UntilEnd(_Sharded(self, run))


class _Sharded(Iterator[Element]):
    """An iterator over the elements of a part.

    After an error of the source, the next call continues with the next element.
    """

    def __init__(self, plan: Shard, run: Run) -> None:
        self._source, self._run = plan.source.start(run), run
        self._count, self._index, self._has_all_parts = plan.count, plan.index, plan.has_all_parts
        self._seen = 0

    def __next__(self) -> Element:
        element = self._following()
        while (self._seen - 1) % self._count != self._index:
            element = self._following()
        while self._has_all_parts and self._seen < self._count:
            try:
                self._following()
            except StopIteration:
                raise too_few(self._seen, self._count) from None
        return element

    def _following(self) -> Element:
        self._run.check()
        element = next(self._source)
        self._seen += 1
        return element


def too_few(found: int, count: int) -> errors.OpError:
    """Return the error of a dataset with fewer elements than workers (shard_dataset_op.cc)."""
    return errors.InvalidArgumentError(
        None,
        None,
        "There aren't enough elements in this dataset for each shard to have at least one element "
        f"(# elems = {found}, # shards = {count}). If you are using datasets with distribution "
        "strategy, consider turning dataset autosharding off with `tf.data.Options`.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class Concatenate(dataset.Unary):
    """The elements of `source` and then those of `other`."""

    other: Dataset

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source, self.other)

    def start(self, run: Run) -> Iterator[Element]:
        return itertools.chain.from_iterable(each.start(run) for each in self.inputs)


@dataclass(frozen=True, slots=True, eq=False)
class Zip(dataset.Dataset):
    """Elements that have the components of the elements of all datasets, until one ends."""

    spec: Spec
    sources: tuple[Dataset, ...]

    @property
    def inputs(self) -> Sequence[Dataset]:
        return self.sources

    def start(self, run: Run) -> Iterator[Element]:
        columns = [each.start(run) for each in self.sources]
        return dataset_ends.UntilEnd(map(_joined, zip(*columns, strict=False)))


def _joined(parts: tuple[Element, ...]) -> Element:
    return sum(parts, ())
