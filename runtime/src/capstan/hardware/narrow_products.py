"""Products of a matrix that has few rows, such as a small batch, with a matrix of weights."""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_products

_ROWS: Final = range(4, 33)
"""A BLAS has functions of its own for a vector, and with more rows it has the time of its copies
back."""

_FEWEST_COLUMNS: Final = 32
"""With fewer columns, the vectors are half empty."""

_MOST_WEIGHTS: Final = 1 << 21
"""Larger matrices come from memory, which is then slower than any order of the products."""

_WORK: Final = range((1 << 19) + 1, (1 << 26) + 1)
"""The numbers of multiplications. Fewer take less time than the calls here. With more threads, a
BLAS is faster from fewer multiplications on."""


def serves(left: Array, right: Array, threads: int) -> bool:
    """Return whether `multiply` is faster than a BLAS with so many threads.

    The arguments are matrices of equal depths.
    """
    (rows, depth), columns = left.shape, right.shape[1]
    size = rows * depth * columns
    return (
        rows in _ROWS
        and columns >= _FEWEST_COLUMNS
        and size in _WORK
        and size * threads in _WORK
        and right.size <= _MOST_WEIGHTS
        and left.dtype == right.dtype
        and left.dtype.char in "fd"
        and left.dtype.isnative
        and (right.flags.c_contiguous or right.flags.f_contiguous)
        and cpu_products.is_fast()
    )


def multiply(left: Array, right: Array, out: Array | None = None) -> Array:
    """Return `np.matmul(left, right, out)` for matrices that `serves` takes."""
    rows, depth = left.shape
    columns = right.shape[1]
    add = cpu_products.add_of(left.dtype)
    if right.flags.c_contiguous:
        result = np.zeros((rows, columns), left.dtype) if out is None else out
        if not result.flags.c_contiguous:
            return _into(multiply(left, right), result)
        if out is not None:
            result.fill(0)
        add(np.ascontiguousarray(left), right, result, _numbers(rows, depth, columns))
        return result
    # The rows of the weights are columns here, so the product of the transposed matrices is.
    result = np.zeros((columns, rows), left.dtype)
    add(right.T, np.ascontiguousarray(left.T), result, _numbers(columns, depth, rows))
    return np.ascontiguousarray(result.T) if out is None else _into(result.T, out)


def _into(result: Any, out: Array) -> Array:
    np.copyto(out, result)
    return out


def _numbers(rows: int, depth: int, columns: int) -> Array:
    return cpu_products.numbers(
        rows=rows,
        depth=depth,
        columns=columns,
        left_row=depth,
        left_column=1,
        right_row=columns,
        result_row=columns,
    )
