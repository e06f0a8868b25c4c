"""Large products of matrices, in pieces that threads share (`hardware.crew`).

The threads of OpenBLAS wait for one another several times in each product. If other programs keep
the cores busy, each wait lasts until the other thread gets a core: a product of 0.3 ms then took 30
to 90 ms. Here a piece is computed by one thread, which waits for no other.
"""

from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import blas, cpu_products, crew

_MOST_THREADS: Final = 4
"""With more cores, OpenBLAS divides its work better, and fewer of them are busy. A guess."""

_PIECE: Final = 1 << 23
"""A piece has at least so many multiplications, which take some 0.2 ms. To wake a helper takes a
tenth of that."""

_PIECES: Final = 8
"""The most pieces. A BLAS copies parts of the matrices for each."""

_EDGE: Final = 16
"""Pieces begin at multiples of this number of rows or columns, so that their tiles are whole."""

_MOST_TILED: Final = 1 << 20
"""Tiles read the right matrix again for each eight rows. A larger one leaves the cache."""

_FEWEST_COLUMNS: Final = 8
"""With fewer columns, the vectors of tiles are almost empty."""


def serves(left: Array, right: Array, threads: int) -> bool:
    """Return whether `multiply` takes two matrices of equal depths, which `threads` may share."""
    return (
        1 < threads <= _MOST_THREADS
        and min(len(left), right.shape[1]) > 1
        and left.dtype == right.dtype
        and left.dtype.char in "fd"
        and left.dtype.isnative
    )


def multiply(left: Array, right: Array, out: Array | None = None) -> Array:
    """Return `np.matmul(left, right, out)` for matrices that `serves` takes."""
    rows, columns = len(left), right.shape[1]
    result = np.empty((rows, columns), left.dtype) if out is None else out
    is_tiled = _is_tiled(left, right, result)
    by_rows = is_tiled or rows >= columns
    places = _slices(rows if by_rows else columns, rows * columns * left.shape[1])

    def work(number: int) -> None:
        place = places[number]
        if is_tiled:
            cpu_products.multiply(left[place], right, result[place])
        elif by_rows:
            blas.alone(np.matmul, left[place], right, result[place])
        else:
            blas.alone(np.matmul, left, right[:, place], result[:, place])

    crew.share(work, len(places))
    return result


def _slices(size: int, work: int) -> list[slice]:
    """Divide an axis of a result into pieces. The division does not depend on the machine."""
    count = max(1, min(_PIECES, work // _PIECE))
    each = -(-size // (count * _EDGE)) * _EDGE
    return [slice(start, min(start + each, size)) for start in range(0, size, each)]


def _is_tiled(left: Array, right: Array, result: Array) -> bool:
    """Return whether tiles are as fast as a BLAS that computes a piece in one thread."""
    return (
        right.flags.c_contiguous
        and result.flags.c_contiguous
        and (left.flags.c_contiguous or left.flags.f_contiguous)
        and right.size <= _MOST_TILED
        and right.shape[1] >= _FEWEST_COLUMNS
        and cpu_products.is_fast()
    )
