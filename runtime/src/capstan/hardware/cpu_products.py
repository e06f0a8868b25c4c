"""Products of matrices on CPUs, in compiled passes that threads share.

`llvm_products` says for which matrices a BLAS is slower.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_elementwise, crew

_PIECE: Final = 1 << 20
"""A piece of a product has at least so many multiplications, which take some 20 microseconds. To
share it takes a tenth of that."""

_PIECES: Final = 8
"""The most pieces. A BLAS copies parts of the matrices for each."""

_EDGE: Final = 32
"""Pieces begin at multiples of this number of rows or columns, so that their tiles are whole."""

_HEIGHTS: Final = {64: (8, 7, 6, 4, 2, 1), 32: (4, 3, 2, 1)}
"""The rows of tiles, by the bytes of a vector. Such tiles fit into the registers.

Images often have 7 or 14 columns."""

_BAND: Final = 8
"""The rows of a band, which is written before the next one is begun."""

_SMALL: Final = 1 << 14
"""So many numbers of a right matrix stay near the core, and each band reads them again."""

_TILE: Final = 2
"""The vectors in the widest tile. If a line of the result has no more, bands change nothing."""


def is_fast() -> bool:
    """Return whether vectors have at least 32 bytes.

    With smaller ones, the functions are no faster than a BLAS.
    """
    return cpu_elementwise.compiler().register in _HEIGHTS


@functools.lru_cache(4096)
def numbers(**fields: int) -> Array:
    """Return the numbers of `llvm_products.FIELDS`. Counts are 1 if they are not given.

    The result must not be changed.
    """
    from capstan.hardware import llvm_products

    given = {**dict.fromkeys((*llvm_products.LOOPS, "repeats"), 1), **fields}
    assert given.keys() <= set(llvm_products.FIELDS)
    return np.array([given.get(name, 0) for name in llvm_products.FIELDS], np.int64)


class _Products:
    """The compiled function for one dtype."""

    def __init__(self, dtype: "np.dtype[np.floating]") -> None:
        from capstan.hardware import llvm_products  # Most programs need no LLVM.

        compiler = cpu_elementwise.compiler()
        heights = _HEIGHTS.get(compiler.register, _HEIGHTS[32])
        text = llvm_products.write(dtype, compiler.register, heights)
        self._engine = compiler.engine(text)  # It owns the code.
        self._of_row: int = self._engine.get_function_address(llvm_products.OF_ROW)

    def share(self, calls: Sequence[tuple[Array, Array, Array, Array]]) -> None:
        # Two threads may compile at the same time, and the cache then keeps only one of the
        # objects. A method keeps its own, and so the code, while threads are in it.
        crew.share(self._of_row, calls)


@functools.cache
def _products(dtype: "np.dtype[np.floating]") -> _Products:
    """Return the functions for arrays of float32 or float64. The first call takes some 0.1 s."""
    return _Products(dtype)


def share(calls: Sequence[tuple[Array, Array, Array, Array]]) -> None:
    """Add products of matrices to results, in place, or write them. Threads share the calls.

    Each call has the arrays that begin with its first left matrix, right matrix and result, and the
    numbers of `numbers`. All matrices have one dtype. No bounds are checked.
    """
    if calls:
        _products(calls[0][0].dtype).share(calls)


def multiply(left: Array, right: Array, result: Array) -> None:
    """Write the product of two matrices of float32 or float64 to `result`, in several threads.

    `left` may lie in memory in any order. `right` and `result` are in C order, and `result` shares
    no memory with the others.
    """
    rows, (depth, columns) = len(left), right.shape
    row, column = (stride // left.itemsize for stride in left.strides)
    fixed = {
        "depth": depth,
        "left_row": row,
        "left_column": column,
        "right_row": columns,
        "result_row": columns,
        "is_first": 1,
    }
    work = rows * depth * columns
    if rows >= columns:
        parts = [(left[part], right, result[part]) for part, _ in slices(rows, work)]
    else:
        parts = [(left, right[:, part], result[:, part]) for part, _ in slices(columns, work)]
    share([call for matrices in parts for call in _calls(*matrices, fixed)])


def _calls(
    left: Array, right: Array, result: Array, fixed: Mapping[str, int]
) -> list[tuple[Array, Array, Array, Array]]:
    """Return the calls for a part of a product.

    A call goes through the result column by column of tiles, which reads the right matrix once. If
    the right matrix is small, it goes band by band, and so writes the result line by line. The rows
    that make no band are a call of their own, for which a small product is not divided.
    """
    rows, columns = result.shape
    is_narrow = columns * result.itemsize <= _TILE * cpu_elementwise.compiler().register
    is_divided = rows % _BAND and rows * columns * fixed["depth"] < _PIECE
    if rows <= _BAND or right.size > _SMALL or is_narrow or is_divided:
        return [(left, right, result, numbers(rows=rows, columns=columns, **fixed))]
    bands = {
        "second": rows // _BAND,
        "second_left": _BAND * fixed["left_row"],
        "second_result": _BAND * fixed["result_row"],
    }
    whole = rows // _BAND * _BAND
    calls = [(left, right, result, numbers(rows=_BAND, columns=columns, **bands, **fixed))]
    if whole < rows:
        rest = numbers(rows=rows - whole, columns=columns, **fixed)
        calls.append((left[whole:], right, result[whole:], rest))
    return calls


def slices(size: int, work: int) -> list[tuple[slice, int]]:
    """Divide an axis of a result that takes so many multiplications. Return parts and their sizes.

    The division does not depend on the machine.
    """
    count = max(1, min(_PIECES, work // _PIECE))
    each = max(1, -(-size // (count * _EDGE))) * _EDGE
    starts = range(0, size, each)
    return [(slice(start, start + each), min(each, size - start)) for start in starts]
