"""The datasets that combine elements, or take them apart: batch, padded_batch, unbatch."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.resources import dataset, dataset_sources
from capstan.resources.dataset import Block, Element
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Batch(dataset.Unary):
    """Elements that stack `size` elements. The last one may be smaller unless it is dropped."""

    size: int
    drops_remainder: bool

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.size > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        blocks = self.source.blocks(run, self.size)
        if blocks is not None:
            return _Joined(blocks, self.size, self.drops_remainder, run)
        source = self.source.start(run)
        drops = self.drops_remainder
        return Batches(source, self.size, self._stacked, run, drops_remainder=drops)

    def _stacked(self, rows: Sequence[Element]) -> Element:
        return stacked(rows, self.spec.types)


def stacked(rows: Sequence[Element], types: Sequence[dtypes.DType]) -> Element:
    """Return elements of these types as one element, with an axis more.

    Raises:
        InvalidArgumentError: a component has different shapes.
    """
    columns = zip(*rows, strict=True)
    return tuple(
        _stack(index, column, dtype)
        for index, (column, dtype) in enumerate(zip(columns, types, strict=True))
    )


class Batches(Iterator[Element]):
    """Takes `size` elements at a time. An error drops the elements before it in the batch."""

    def __init__(
        self,
        source: Iterator[Element],
        size: int,
        stack: Callable[[Sequence[Element]], Element],
        run: Run,
        *,
        drops_remainder: bool = False,
    ) -> None:
        self._source, self._size, self._stack, self._run = source, size, stack, run
        self._least = size if drops_remainder else 1

    def __next__(self) -> Element:
        rows: list[Element] = []
        wanted = 0
        while len(rows) == wanted < self._size:
            self._run.check()
            wanted = min(wanted + dataset.MANY_ELEMENTS, self._size)
            rows += itertools.islice(self._source, wanted - len(rows))
        if len(rows) < self._size:
            self._source = iter(())  # the source might go on after its end
        if len(rows) < self._least:
            raise StopIteration
        return self._stack(rows)


@dataclass(frozen=True, slots=True, eq=False)
class MapAndBatch(Batch):
    """Batches of the results of a map. An error takes the place of the whole batch."""

    def start(self, run: Run) -> Iterator[Element]:
        blocks = self.source.blocks(run, self.size)
        if blocks is not None:
            return _Joined(blocks, self.size, self.drops_remainder, run)
        source = self.source.start(run)
        drops = self.drops_remainder
        return _WholeBatches(source, self.size, self._stacked, run, drops_remainder=drops)


class _WholeBatches(Batches):
    """Takes `size` elements or errors at a time. The first error in a batch is raised."""

    def __next__(self) -> Element:
        rows: list[Element] = []
        faults: list[Exception] = []
        for _ in range(self._size):
            self._run.check()
            try:
                rows.append(next(self._source))
            except StopIteration:
                break
            except Exception as fault:  # noqa: BLE001 - raised in the place of the batch
                faults.append(fault)
        if faults:
            raise faults[0]
        if len(rows) < self._least:
            raise StopIteration
        return self._stack(rows)


class _Joined(Iterator[Element]):
    """Cuts blocks of any sizes up to `size` into blocks of `size` elements."""

    def __init__(self, blocks: Iterator[Block], size: int, drops_remainder: bool, run: Run) -> None:
        self._blocks, self._size, self._run = blocks, size, run
        self._least = size if drops_remainder else 1
        self._rest: Block | None = None

    def __next__(self) -> Element:
        pieces, count = [], 0
        while count < self._size:
            self._run.check()
            block = self._rest or next(self._blocks, None)
            self._rest = None
            if block is None:
                break
            room = self._size - count
            if len(block[0]) > room:
                self._rest = tuple(values[room:] for values in block)
                block = tuple(values[:room] for values in block)
            pieces.append(block)
            count += len(block[0])
        if count < self._least:
            raise StopIteration
        if len(pieces) == 1:
            return pieces[0]
        return tuple(map(np.concatenate, zip(*pieces, strict=True)))


def _stack(index: int, column: Sequence[Any], dtype: dtypes.DType) -> Any:
    first = column[0].shape
    for place, value in enumerate(column):
        if value.shape != first:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot batch tensors with different shapes in component {index}. First element "
                f"had shape {shapes.show(first)} and element {place} had shape "
                f"{shapes.show(value.shape)}.",
            )
    kind = dtype.as_numpy_dtype
    batch = np.empty((len(column), *first), kind)
    if first:
        np.stack(column, out=batch)
    elif kind is object:
        batch[:] = [value.item() for value in column]
    else:
        batch[:] = column
    return batch


@dataclass(frozen=True, slots=True, eq=False)
class PaddedBatch(dataset.Unary):
    """Batches of elements whose components are padded to one shape (padded_batch_dataset_op.cc).

    An unknown size of `sizes` becomes the largest size in the batch. `paddings` are scalars.
    """

    size: int
    drops_remainder: bool
    sizes: tuple[tuple[int | None, ...], ...]
    paddings: Element

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.size > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        source = self.source.start(run)
        drops = self.drops_remainder
        return Batches(source, self.size, self._padded, run, drops_remainder=drops)

    def _padded(self, rows: Sequence[Element]) -> Element:
        columns = enumerate(zip(*rows, strict=True))
        return tuple(self._component(index, column) for index, column in columns)

    def _component(self, index: int, column: Sequence[Any]) -> Any:
        wanted = self.sizes[index]
        for value in column:
            if value.ndim != len(wanted):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "All elements in a batch must have the same rank as the padded shape for "
                    f"component{index}: expected rank {len(wanted)} but got element with rank "
                    f"{value.ndim}",
                )
            for axis, size in enumerate(wanted):
                if size is not None and value.shape[axis] > size:
                    raise errors.DataLossError(
                        None,
                        None,
                        "Attempted to pad to a smaller size than the input element.",
                    )
        sizes = [
            max(value.shape[axis] for value in column) if size is None else size
            for axis, size in enumerate(wanted)
        ]
        kind = self.spec.types[index].as_numpy_dtype
        batch = np.empty((len(column), *sizes), kind)
        batch[...] = self.paddings[index]
        for place, value in enumerate(column):
            corner: tuple[Any, ...] = (place, *map(slice, value.shape))
            batch[corner] = value
        return batch


@dataclass(frozen=True, slots=True, eq=False)
class Unbatch(dataset.Unary):
    """The slices of the components of each element along axis 0."""

    @property
    def may_block(self) -> bool:
        return True  # no element may have a slice

    def start(self, run: Run) -> Iterator[Element]:
        return dataset.Flat(map(self._slices, self.source.start(run)), run)

    def _slices(self, element: Element) -> Iterator[Element]:
        for value in element:
            if not value.ndim:
                raise errors.InvalidArgumentError(
                    None, None, "Input element must have a non-scalar value in each component."
                )
        sizes = dataset_sources.sizes(element)
        for index, size in enumerate(sizes):
            if size != sizes[0]:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "Input element must have the same batch size in each component. Component 0 "
                    f"had size {sizes[0]} but component {index} had size, {size}.",
                )
        return iter(tuple(dataset_sources.Slices(self.spec, element).start(Run())))
