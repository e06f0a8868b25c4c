"""Transposed copies of matrices on CPUs."""

import functools
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_loops

_TOGETHER: Final = 16
"""So many rows are read side by side. Their numbers of one column fill a line of a cache."""

_PIECE: Final = 1 << 15
"""A piece has about so many numbers. Fewer take less time than to share them."""


def transposed(matrix: Array) -> Array:
    """Return the transposed matrix in C order. `matrix` is in C order, too.

    Where NumPy copies element by element, a compiled loop copies blocks, in several threads.
    """
    rows, columns = matrix.shape
    loop = _loop()
    if matrix.size < _PIECE or loop.at_once() is None:
        return np.ascontiguousarray(matrix.T)
    result = np.empty((columns, rows), matrix.dtype)
    each = -(-_PIECE // (columns * _TOGETHER)) * _TOGETHER
    loop.share(
        (matrix, result, columns, start, min(start + each, rows)) for start in range(0, rows, each)
    )
    return result


@functools.cache
def _loop() -> cpu_loops.Loop:
    return cpu_loops.Loop(transpose)


def transpose(matrix: Any, result: Any, columns: int, start: int, stop: int) -> int:
    """Write the rows from `start` to `stop` to the columns of the result."""
    rows = len(matrix)
    first = start
    while first < stop:
        last = min(first + _TOGETHER, stop)
        for column in range(columns):
            for row in range(first, last):
                result[column * rows + row] = matrix[row * columns + column]
        first = last
    return 0
