"""Elements that are read many at a time (`dataset.Dataset.blocks`)."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.resources.dataset import Block, Spec

Row = tuple[Any, ...]
"""One value per component."""


class Blocks(Iterator[Block]):
    """The blocks that a function makes, until it returns None."""

    def __init__(self, make: Callable[[], Block | None]) -> None:
        self._make = make

    def __next__(self) -> Block:
        block = self._make()
        if block is None:
            raise StopIteration
        return block


class Rows(Iterator[Row]):
    """The elements of blocks, with `bytes` in place of strings without axes."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._left: Iterator[Row] = iter(())

    def __next__(self) -> Row:
        while True:
            for row in self._left:
                return row
            self._left = zip(*map(_values, next(self._blocks)), strict=True)

    def take(self, count: int) -> list[Row]:
        """Return the next rows, up to `count` rows of one block, or none at the end."""
        while True:
            if rows := list(itertools.islice(self._left, count)):
                return rows
            block = next(self._blocks, None)
            if block is None:
                return []
            self._left = zip(*map(_values, block), strict=True)


def _values(column: Array) -> list[Any]:
    return column.tolist() if column.dtype == object and column.ndim == 1 else list(column)


def stacked(rows: Sequence[Row], spec: Spec) -> Block:
    """Return a block of such rows, of which there is at least one."""
    types = [dtype.as_numpy_dtype for dtype in spec.types]
    return tuple([_column([row[at] for row in rows], kind) for at, kind in enumerate(types)])


def _column(values: Sequence[Any], kind: Any) -> Array:
    shape = values[0].shape if isinstance(values[0], np.ndarray) else ()
    column = np.empty((len(values), *shape), kind)
    column[:] = values
    return column
