"""Stack the tensors of several nodes, so that one call computes the outputs of all of them.

Each node has a block of rows in the stacked tensor. The indices of a node are moved by the number
of rows of the blocks before its own (`registry.Join`). All arrays are in host memory.

The blocks of a stacked tensor are a `Column`. If the nodes of the next call take them in the same
order, the next call finds them stacked.
"""

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, final, overload

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.memory import as_rows, row_type

_NDIM, _DTYPE, _SHAPE = map(operator.attrgetter, ("ndim", "dtype", "shape"))
_IS_PLAIN = operator.attrgetter("flags.c_contiguous")


class Blocks:
    """The blocks of several nodes. Block i has `sizes[i]` rows.

    Raises:
        ValueError: a size is negative, or the sum of the sizes does not fit in int64. Such sizes
            would let an index outside of the stacked tensor pass as one of a block.
    """

    __slots__ = ("sizes", "starts", "total")

    def __init__(self, sizes: Sequence[int] | Array) -> None:
        self.sizes = np.ascontiguousarray(sizes, np.int64)
        ends = self.sizes.cumsum()
        self.starts = ends - self.sizes
        if np.count_nonzero(ends < self.starts):
            raise ValueError(f"blocks of {self.sizes.tolist()} rows cannot be stacked")
        self.total = int(ends[-1])

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> "Blocks":
        """Return one block for each array, with the rows of the array."""
        return arrays.blocks if type(arrays) is Column else cls(list(map(len, arrays)))

    def match(self, other: "Blocks") -> bool:
        """Return whether these blocks, and as many other blocks, have the same sizes."""
        return self is other or bool((self.sizes == other.sizes).all())

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


@final
class Column(Sequence[Array]):
    """The blocks of a stacked tensor, each the tensor of a node. They are views, cut when needed.

    Nothing writes to the stacked tensor. `type(x) is Column` takes a tenth of the time that
    `isinstance` takes for a class with abstract methods.
    """

    __slots__ = ("_parts", "blocks", "stacked")

    def __init__(self, blocks: Blocks, stacked: Array) -> None:
        self.blocks, self.stacked = blocks, stacked
        self._parts: list[Array] | None = None

    @property
    def parts(self) -> list[Array]:
        if self._parts is None:
            self._parts = self.blocks.cut(self.stacked)
        return self._parts

    def __len__(self) -> int:
        return len(self.blocks.sizes)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.parts)

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...
    def __getitem__(self, index: int | slice) -> Array | list[Array]:
        return self.parts[index]


def column(arrays: Sequence[Array]) -> Column:
    """Return the arrays as a column, which they may be already.

    Raises:
        ValueError: the rows have different shapes.
    """
    if type(arrays) is Column:
        return arrays
    return Column(Blocks.of(arrays), np.concatenate(arrays))


def stacked(arrays: Sequence[Array]) -> Array:
    """Return the rows of all arrays. Do not write to them: a column gives its own memory.

    Raises:
        ValueError: the rows have different shapes.
    """
    return arrays.stacked if type(arrays) is Column else np.concatenate(arrays)


def are_vectors(*columns: Sequence[Array]) -> bool:
    """Return whether all arrays are vectors with elements."""
    return all(map(_has_vectors, columns))


def _has_vectors(arrays: Sequence[Array]) -> bool:
    if type(arrays) is Column:
        return arrays.stacked.ndim == 1 and bool(arrays.blocks.sizes.all())
    return set(map(_NDIM, arrays)) == {1} and all(map(len, arrays))


def have_same_shapes(some: Sequence[Array], others: Sequence[Array]) -> bool:
    """Return whether each array has the shape of the other one in its place."""
    if type(some) is Column and type(others) is Column:
        have_same_rows = some.stacked.shape[1:] == others.stacked.shape[1:]
        return have_same_rows and some.blocks.match(others.blocks)
    return [array.shape for array in some] == [array.shape for array in others]


def are_alike(tables: Sequence[Array]) -> bool:
    """Return whether all tables have one dtype, and rows of one shape."""
    if len(set(map(_DTYPE, tables))) > 1:
        return False
    shapes = set(map(_SHAPE, tables))
    return len(shapes) == 1 or len({shape[1:] for shape in shapes}) == 1


def suit_loops(tables: Sequence[Array]) -> bool:
    """Return whether compiled loops (`row_loops`) may read and change the rows of these tables.

    The tables are alike.
    """
    dtype = tables[0].dtype
    is_known = dtype.kind in "iuf" and dtype.itemsize in (4, 8)
    return is_known and all(map(_IS_PLAIN, tables))


def rows_of_each(tables: Sequence[Array], indices: Column) -> Column:
    """Return the rows of each table at its indices.

    The tables have rows of one shape and dtype. The caller has checked the indices.
    """
    blocks = indices.blocks
    found = Column(blocks, np.empty((blocks.total, *tables[0].shape[1:]), tables[0].dtype))
    for table, index, block in zip(tables, indices, found, strict=True):
        table.take(index, 0, block, "clip")
    return found


def put_rows_of_each(
    tables: Sequence[Array],
    indices: Column,
    stacked: Array,
) -> None:
    """Replace the rows of each table at its indices by those of its block in the stacked tensor.

    The tables have the dtype of the stacked tensor, and rows of its shape. Its blocks are those of
    the indices. The caller has checked the indices, of which none occurs twice in one table.
    """
    pairs, blocks = zip(tables, indices, strict=True), indices.blocks
    is_plain = stacked.flags.c_contiguous and not stacked.dtype.hasobject
    if stacked.size and is_plain and all(map(_IS_PLAIN, tables)):
        row = row_type(stacked)
        for (table, index), block in zip(pairs, blocks.cut(as_rows(stacked, row)), strict=True):
            as_rows(table, row).put(index, block)
    else:
        for (table, index), block in zip(pairs, blocks.cut(stacked), strict=True):
            table[index] = block
