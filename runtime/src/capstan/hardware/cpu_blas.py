"""Products of matrices by NumPy's BLAS, each in one thread, which several threads share."""

import functools
from collections.abc import Sequence

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import blas, cpu_elementwise, crew


def share(products: Sequence[tuple[Array, Array, Array]]) -> None:
    """Write products of two matrices to the third of each tuple, in several threads.

    All have the same dtype, float32 or float64, and are aligned. The lines of the first two have
    neighbours, as rows or as columns. The rows of the third have. There must be a `blas.library`.
    """
    _function(products[0][0].dtype).share([_row(*product) for product in products])


def has_lines(matrix: Array) -> bool:
    """Return whether `share` takes a matrix: its rows or its columns are whole lines in memory."""
    return any(_is_line(each) for each in (matrix, matrix.T))


def _is_line(matrix: Array) -> bool:
    row, number = matrix.strides
    return number == matrix.itemsize and row >= matrix.shape[1] * matrix.itemsize


def _row(left: Array, right: Array, result: Array) -> crew.Row:
    """Return the arguments of a call of the BLAS (`llvm_blas.OF_ROW`)."""
    sizes = *result.shape, len(right)
    return *sizes, *_passed(left), *_passed(right), result, _distance(result)


def _passed(matrix: Array) -> crew.Row:
    from capstan.hardware import llvm_blas  # Most programs need no LLVM.

    if _is_line(matrix):
        return llvm_blas.PLAIN, matrix, _distance(matrix)
    return llvm_blas.TRANSPOSED, matrix, _distance(matrix.T)


def _distance(matrix: Array) -> int:
    """Return the distance of the rows, in elements."""
    return matrix.strides[0] // matrix.itemsize


class _Function:
    """The compiled call of the BLAS for one dtype."""

    def __init__(self, dtype: "np.dtype[np.floating]") -> None:
        from capstan.hardware import llvm_blas

        library = blas.library()
        assert library is not None
        text = llvm_blas.write(dtype, library.bits)
        symbols = {llvm_blas.symbol(dtype): library.product(dtype)}
        self._engine = cpu_elementwise.compiler().engine(text, symbols)  # It owns the code.
        self._of_row: int = self._engine.get_function_address(llvm_blas.OF_ROW)

    def share(self, rows: Sequence[crew.Row]) -> None:
        """Share the calls. A method keeps the engine, and so the code, while threads are in it."""
        blas.alone(crew.share, self._of_row, rows)


@functools.cache
def _function(dtype: "np.dtype[np.floating]") -> _Function:
    return _Function(dtype)
