"""Kernels of the ops on the bits of integers.

TensorFlow shifts by at least 0 bits, and by at most all bits but one. NumPy's shifts by other
numbers have no defined result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register


def _shift(ufunc: np.ufunc) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)
        none, most = dtype.type(0), dtype.type(dtype.itemsize * 8 - 1)

        def shift(x: Array, y: Array, out: Array | None = None) -> Any:
            return ufunc(x, np.minimum(np.maximum(y, none), most), out)

        return shift

    return make


def _population_count(node: NodeContext) -> Function:
    # NumPy counts the bits of the absolute value.
    dtype = np.dtype(node.input_dtypes[0].as_numpy_dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def count(x: Array, out: Array | None = None) -> Any:
        return np.bitwise_count(x.view(unsigned), out)

    return count


for _op, _function in (
    ("BitwiseAnd", np.bitwise_and),
    ("BitwiseOr", np.bitwise_or),
    ("BitwiseXor", np.bitwise_xor),
    ("Invert", np.invert),
):
    register(Kernel(_op, constantly(_function), out=True))
register(Kernel("LeftShift", _shift(np.left_shift), out=True))
register(Kernel("RightShift", _shift(np.right_shift), out=True))
register(Kernel("PopulationCount", _population_count, out=True))
