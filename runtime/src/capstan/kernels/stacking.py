"""Stack the tensors of several nodes, so that one call computes the outputs of all of them.

Each node has a block of rows in the stacked tensor. The indices of a node are moved by the number
of rows of the blocks before its own (`registry.Join`). All arrays are in host memory.
"""

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels.memory import as_rows, row_type

_NDIM, _DTYPE = operator.attrgetter("ndim"), operator.attrgetter("dtype")


class Blocks:
    """The blocks of several nodes. Block i has `sizes[i]` rows.

    Raises:
        ValueError: a size is negative, or the sum of the sizes does not fit in int64. Such sizes
            would let an index outside of the stacked tensor pass as one of a block.
    """

    __slots__ = ("sizes", "starts", "total")

    def __init__(self, sizes: Sequence[int] | Array) -> None:
        self.sizes = np.asarray(sizes, np.int64)
        ends = self.sizes.cumsum()
        self.starts = ends - self.sizes
        if np.count_nonzero(ends < self.starts):
            raise ValueError(f"blocks of {self.sizes.tolist()} rows cannot be stacked")
        self.total = int(ends[-1])

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> "Blocks":
        """Return one block for each array, with the rows of the array."""
        return cls(list(map(len, arrays)))

    def owners(self) -> Array:
        """Return the number of the block of each row."""
        return np.arange(len(self.sizes)).repeat(self.sizes)

    def contain(self, indices: Array, parts: "Blocks") -> bool:
        """Return whether the indices of each part are in the block with the number of the part.

        The indices count from the start of the block. No part is empty.
        """
        # As an unsigned integer, a negative index is too large as well.
        unsigned = indices.view(np.uint64 if indices.itemsize == 8 else np.uint32)
        largest = np.maximum.reduceat(unsigned, parts.starts)
        return bool((largest < self.sizes.view(np.uint64)).all())

    def moved(self, indices: Array, parts: "Blocks") -> Array:
        """Return the places in the stacked tensor of the indices of each part.

        The indices count from the start of the block with the number of the part.
        """
        places: Array = indices + self.starts.repeat(parts.sizes)
        return places

    def cut(self, stacked: Array) -> list[Array]:
        """Return the rows of each block, as views."""
        edges = [*self.starts.tolist(), self.total]
        return [stacked[start:end] for start, end in itertools.pairwise(edges)]


def are_vectors(*columns: Sequence[Array]) -> bool:
    """Return whether all arrays are vectors with elements."""
    return all(set(map(_NDIM, parts)) == {1} and all(map(len, parts)) for parts in columns)


def are_alike(tables: Sequence[Array]) -> bool:
    """Return whether all tables have one dtype, and rows of one shape."""
    row = tables[0].shape[1:]
    return len(set(map(_DTYPE, tables))) == 1 and all(table.shape[1:] == row for table in tables)


def suit_loops(tables: Sequence[Array]) -> bool:
    """Return whether compiled loops (`row_loops`) may read and change the rows of these tables.

    The tables are alike.
    """
    dtype = tables[0].dtype
    is_known = dtype.kind in "iuf" and dtype.itemsize in (4, 8)
    return is_known and all(table.flags.c_contiguous for table in tables)


def rows_of_each(tables: Sequence[Array], indices: Array, blocks: Blocks) -> Array:
    """Return the rows of each table at its indices, as one stacked tensor.

    The tables have rows of one shape and dtype. The caller has checked the indices, which are
    stacked as `blocks` says.
    """
    stacked = np.empty((blocks.total, *tables[0].shape[1:]), tables[0].dtype)
    cut = blocks.cut(indices), blocks.cut(stacked)
    for table, index, block in zip(tables, *cut, strict=True):
        table.take(index, 0, block, "clip")
    return stacked


def put_rows_of_each(
    tables: Sequence[Array],
    indices: Array,
    stacked: Array,
    blocks: Blocks,
    run: cpu_loops.Run | None = None,
) -> None:
    """Replace the rows of each table at its indices by those of its block in the stacked tensor.

    The tables have the dtype of the stacked tensor, and rows of its shape. The caller has checked
    the indices, which are stacked as `blocks` says, and of which none occurs twice in one table.
    `run` is `row_loops.put_rows`, if the tables and the stacked tensor suit it.
    """
    if run is not None:
        run(tables, indices, blocks.sizes, stacked, stacked[:1].size)
        return
    pairs = zip(tables, blocks.cut(indices), strict=True)
    is_plain = stacked.flags.c_contiguous and not stacked.dtype.hasobject
    if stacked.size and is_plain and all(table.flags.c_contiguous for table in tables):
        row = row_type(stacked)
        for (table, index), block in zip(pairs, blocks.cut(as_rows(stacked, row)), strict=True):
            as_rows(table, row).put(index, block)
    else:
        for (table, index), block in zip(pairs, blocks.cut(stacked), strict=True):
            table[index] = block
