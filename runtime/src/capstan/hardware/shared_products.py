"""Large products of matrices, in pieces that threads share (`hardware.crew`).

The threads of OpenBLAS wait for one another several times in each product. If other programs keep
the cores busy, each wait lasts until the other thread gets a core: a product of 0.3 ms then took 30
to 90 ms. Here a piece is computed by one thread, which waits for no other.
"""

from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import blas, cpu_blas, cpu_products, transposition

_MOST_THREADS: Final = 4
"""With more cores, OpenBLAS divides its work better, and fewer of them are busy. A guess."""

_MOST_TILED: Final = 1 << 20
"""Tiles read the right matrix again for each eight rows. A larger one leaves the cache."""

_FEWEST_COLUMNS: Final = 8
"""With fewer columns, the vectors of tiles are almost empty."""


def serves(left: Array, right: Array, threads: int) -> bool:
    """Return whether `multiply` takes two matrices of equal depths, which `threads` may share."""
    return (
        1 < threads <= _MOST_THREADS
        and min(len(left), right.shape[1]) > 1
        and len(right) > 0
        and left.dtype == right.dtype
        and left.dtype.char in "fd"
        and left.dtype.isnative
        and left.flags.aligned
        and right.flags.aligned
        and blas.library() is not None
    )


def multiply(left: Array, right: Array, out: Array | None = None) -> Array:
    """Return `np.matmul(left, right, out)` for matrices that `serves` takes."""
    has_place = out is not None and out.flags.c_contiguous
    result = out if has_place else np.empty((len(left), right.shape[1]), left.dtype)
    assert result is not None
    if _is_tiled(left, right):
        lines = right if right.flags.c_contiguous else transposition.transposed(right.T)
        cpu_products.multiply(left, lines, result)
    else:
        _multiply(left, right, result)
    if out is None or has_place:
        return result
    np.copyto(out, result)
    return out


def _is_tiled(left: Array, right: Array) -> bool:
    """Return whether tiles are as fast as a BLAS that computes a piece in one thread."""
    return (
        (right.flags.c_contiguous or right.flags.f_contiguous)
        and (left.flags.c_contiguous or left.flags.f_contiguous)
        and right.size <= _MOST_TILED
        and right.shape[1] >= _FEWEST_COLUMNS
        and cpu_products.is_fast()
    )


def _multiply(left: Array, right: Array, result: Array) -> None:
    """Write the product to `result`, which is in C order."""
    left, right = (
        matrix if cpu_blas.has_lines(matrix) else np.ascontiguousarray(matrix)
        for matrix in (left, right)
    )
    rows, columns = result.shape
    by_rows = rows >= columns
    parts = cpu_products.slices(rows if by_rows else columns, result.size * len(right))
    if by_rows:
        cpu_blas.share([(left[part], right, result[part]) for part, _ in parts])
    else:
        cpu_blas.share([(left, right[:, part], result[:, part]) for part, _ in parts])
