"""Products of a matrix that has few rows, such as a small batch, with a matrix of weights."""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_products

_ROWS: Final = range(4, 33)
"""A BLAS is fast with a vector, for which it makes no copies, and with many rows, which take longer
than the copies."""

_FEWEST_COLUMNS: Final = 32
"""With fewer columns, the vectors are half empty."""

_MOST_WEIGHTS: Final = 1 << 21
"""Larger matrices come from memory, which is then slower than any order of the products."""

_WORK: Final = range((1 << 19) + 1, (1 << 26) + 1)
"""The numbers of multiplications. Fewer take less time than the calls here. The upper limit is
divided by the number of threads, because a BLAS uses them all."""


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
        and left.flags.aligned
        and right.flags.aligned
        and (right.flags.c_contiguous or right.flags.f_contiguous)
        and cpu_products.is_fast()
    )


def multiply(left: Array, right: Array, out: Array | None = None) -> Array:
    """Return `np.matmul(left, right, out)` for matrices that `serves` takes."""
    shape = len(left), right.shape[1]
    if right.flags.c_contiguous:
        if out is None:
            out = np.empty(shape, left.dtype)
        if out.flags.c_contiguous:
            cpu_products.multiply(left, right, out)
            return out
        return _into(multiply(left, right), out)
    # The rows of the weights lie side by side in columns, so the transposed product is computed.
    result = np.empty(shape[::-1], left.dtype)
    cpu_products.multiply(right.T, np.ascontiguousarray(left.T), result)
    return np.ascontiguousarray(result.T) if out is None else _into(result.T, out)


def _into(result: Any, out: Array) -> Array:
    np.copyto(out, result)
    return out
