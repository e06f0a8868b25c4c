"""Stack the tensors of several nodes, so that one call computes the outputs of all of them.

Each node has a block of rows in the stacked tensor. The indices of a node are moved by the number
of rows of the blocks before its own (`registry.Join`). All arrays are in host memory.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array


class Blocks:
    """The blocks of several nodes. Block i has `sizes[i]` rows."""

    __slots__ = ("sizes", "starts", "total")

    def __init__(self, sizes: Sequence[int] | Array) -> None:
        self.sizes = np.asarray(sizes, np.int64)
        ends = np.cumsum(self.sizes)
        self.starts = ends - self.sizes
        self.total = int(ends[-1])

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> "Blocks":
        """Return one block for each array, with the rows of the array."""
        return cls(list(map(len, arrays)))

    def owners(self) -> Array:
        """Return the number of the block of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def contain(self, indices: Array, parts: "Blocks") -> bool:
        """Return whether the indices of each part are in the block with the number of the part.

        The indices count from the start of the block. No part is empty.
        """
        # As an unsigned integer, a negative index is too large as well.
        unsigned = indices.view(np.uint64) if indices.itemsize == 8 else indices.astype(np.uint64)
        largest = np.maximum.reduceat(unsigned, parts.starts)
        return bool((largest < self.sizes.view(np.uint64)).all())

    def moved(self, indices: Array, owners: Array) -> Array:
        """Return the places in the stacked tensor of indices that count from their block."""
        places: Array = indices + self.starts[owners]
        return places

    def cut(self, stacked: Array) -> list[Array]:
        """Return the rows of each block, as views."""
        edges = [*self.starts.tolist(), self.total]
        return [stacked[start:end] for start, end in itertools.pairwise(edges)]


def are_vectors(*columns: Sequence[Array]) -> bool:
    """Return whether all arrays are vectors with elements."""
    return all(part.ndim == 1 and part.size for parts in columns for part in parts)


def rows_of_each(tables: Sequence[Array], indices: Sequence[Array], blocks: Blocks) -> Array:
    """Return the rows of each table at its indices, as one stacked tensor.

    The tables have rows of one shape and dtype. The caller has checked the indices, of which
    `blocks` has the numbers.
    """
    stacked = np.empty((blocks.total, *tables[0].shape[1:]), tables[0].dtype)
    for table, index, block in zip(tables, indices, blocks.cut(stacked), strict=True):
        table.take(index, 0, block, "clip")
    return stacked
