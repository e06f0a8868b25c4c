"""The datasets that cut elements anew: rebatch, sliding windows, rows of sparse tensors.

Sources: rebatch_dataset_op.cc, sliding_window_dataset_op.cc, sparse_tensor_slice_dataset_op.cc.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.resources import dataset, dataset_batch, dataset_windows
from capstan.resources.dataset import Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Rebatch(dataset.Unary):
    """The rows of batches, in batches of the next one of `sizes` rows, again and again.

    A batch of size 0 takes no row, so it also comes after a last batch that is full. Its unknown
    sizes are 0.
    """

    sizes: tuple[int, ...]
    drops_remainder: bool

    @property
    def may_block(self) -> bool:
        return True  # batches may be empty

    def start(self, run: Run) -> Iterator[Element]:
        return _Rebatched(self, run)


class _Rebatched(Iterator[Element]):
    def __init__(self, plan: Rebatch, run: Run) -> None:
        self._source, self._run = plan.source.start(run), run
        self._sizes, self._drops = itertools.cycle(plan.sizes), plan.drops_remainder
        self._rest: Element | None = None
        self._has_ended = False
        self._empty = tuple(
            np.empty((0, *(size or 0 for size in (shape or ())[1:])), dtype.as_numpy_dtype)
            for dtype, shape in zip(plan.spec.types, plan.spec.shapes, strict=True)
        )

    def __next__(self) -> Element:
        if self._has_ended:
            raise StopIteration
        wanted = next(self._sizes)
        if not wanted:
            return self._empty
        pieces: list[Element] = []
        count = 0
        while count < wanted:
            self._run.check()
            block = next(self._source, None) if self._rest is None else self._rest
            self._rest = None
            if block is None:
                break
            rows, room = _rows(block), wanted - count
            if rows > room:
                self._rest = tuple(values[room:] for values in block)
                block = tuple(values[:room] for values in block)
            pieces.append(block)
            count += min(rows, room)
        self._has_ended = count < wanted
        if not count or (self._has_ended and self._drops):
            raise StopIteration
        return pieces[0] if len(pieces) == 1 else tuple(map(_joined, zip(*pieces, strict=True)))


def _rows(element: Element) -> int:
    """Return the number of rows of a batch.

    Raises:
        InvalidArgumentError: a component is a scalar, or the components differ in their rows.
    """
    if not all(values.ndim for values in element):
        raise errors.InvalidArgumentError(
            None, None, "Cannot rebatch dataset: All components must have at least one dimension."
        )
    counts = {len(values) for values in element}
    if len(counts) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Cannot rebatch dataset: All components must have the same number of rows, but have "
            f"{sorted(counts)}",
        )
    return counts.pop()


def _joined(pieces: Sequence[Any]) -> Any:
    if len({piece.shape[1:] for piece in pieces}) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Cannot rebatch dataset: the rows of consecutive batches have different shapes",
        )
    return np.concatenate(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Split(dataset.Unary):
    """Each batch as `count` batches of equal size. The last ones are smaller, or empty."""

    count: int

    def start(self, run: Run) -> Iterator[Element]:
        return dataset.Flat(map(self._parts, self.source.start(run)), run)

    def _parts(self, element: Element) -> Iterator[Element]:
        _rows(element)
        sizes = [-(-len(values) // self.count) for values in element]
        for part in range(self.count):
            yield tuple(
                values[part * size : (part + 1) * size]
                for values, size in zip(element, sizes, strict=True)
            )


@dataclass(frozen=True, slots=True, eq=False)
class Sliding(dataset_windows.Window):
    """The windows as batches."""

    def start(self, run: Run) -> Iterator[Element]:
        return map(self._stacked, dataset_windows.window_rows(self, run))

    def _stacked(self, rows: Sequence[Element]) -> Element:
        return dataset_batch.stacked(rows, self.spec.types)


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows(dataset.Dataset):
    """The slices of a sparse tensor along axis 0, as (indices, values, shape).

    The indices are ordered by their first column.
    """

    spec: Spec
    indices: Array
    values: Array
    shape: Array

    def start(self, run: Run) -> Iterator[Element]:
        shape = self.shape[1:]
        starts = self.indices[:, 0].searchsorted(np.arange(int(self.shape[0]) + 1))
        return (
            (self.indices[start:end, 1:], self.values[start:end], shape)
            for start, end in itertools.pairwise(starts.tolist())
        )


@dataclass(frozen=True, slots=True, eq=False)
class Counted(dataset.Unary):
    """The elements of `source`, which must be `count`."""

    count: int

    def start(self, run: Run) -> Iterator[Element]:
        return _Counted(self.source.start(run), self.count)


class _Counted(Iterator[Element]):
    def __init__(self, source: Iterator[Element], count: int) -> None:
        self._source, self._count, self._seen = source, count, 0

    def __next__(self) -> Element:
        for element in self._source:
            self._seen += 1
            if 0 <= self._count < self._seen:
                raise _wrong(f"{_number(self._count)} but contained at least {self._seen} element")
            return element
        if self._count not in (self._seen, UNKNOWN):
            raise _wrong(f"{_number(self._count)} but contained only {self._seen} element")
        raise StopIteration


UNKNOWN = -2
"""The count of a dataset that may have any number of elements."""


def _number(count: int) -> str:
    return "an infinite number of elements" if count == -1 else f"{count} elements"


def _wrong(what: str) -> errors.OpError:
    ending = "" if what.endswith(" 1 element") else "s"
    return errors.FailedPreconditionError(
        None, None, f"Input dataset was expected to contain {what}{ending}."
    )
