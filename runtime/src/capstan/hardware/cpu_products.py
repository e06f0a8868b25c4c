"""Products of matrices on CPUs, in one compiled pass of the calling thread.

`llvm_products` says for which matrices a BLAS is slower.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_elementwise

Add = Callable[[Array, Array, Array, Array], None]
"""Adds products to a result, in place.

It takes the left matrices, the right matrices, the result, and the numbers of `numbers`. It checks
no bounds. Other threads run Python meanwhile.
"""

_HEIGHTS: Final = {64: 8, 32: 4}
"""The rows of a tile, by the bytes of a vector. Such tiles fit into the registers."""


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
        height = _HEIGHTS.get(compiler.register, max(_HEIGHTS.values()))
        text = llvm_products.write(dtype, compiler.register, height)
        self._engine = compiler.engine(text)  # It owns the code.
        signature = ctypes.CFUNCTYPE(None, *[ctypes.py_object] * 4)
        self._call = signature(self._engine.get_function_address(llvm_products.NAME))

    def add(self, left: Array, right: Array, result: Array, given: Array) -> None:
        self._call(left, right, result, given)


@functools.cache
def add_of(dtype: "np.dtype[np.floating]") -> Add:
    """Return the function for arrays of float32 or float64. The first call takes some 0.1 s."""
    return _Products(dtype).add


def multiply(left: Array, right: Array, result: Array) -> None:
    """Write the product of two matrices of float32 or float64 to `result`.

    `left` may lie in memory in any order. `right` and `result` are in C order, and `result` shares
    no memory with the others.
    """
    depth, columns = right.shape
    row, column = (stride // left.itemsize for stride in left.strides)
    given = numbers(
        rows=len(left),
        depth=depth,
        columns=columns,
        left_row=row,
        left_column=column,
        right_row=columns,
        result_row=columns,
    )
    result.fill(0)
    add_of(left.dtype)(left, right, result, given)
