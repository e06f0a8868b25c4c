"""Kernels that replace or change rows of a tensor (core/kernels/inplace_ops.cc).

TensorFlow changes the input itself, and other readers of the input may see the change or not. These
kernels change a copy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _replaced(_: Array, rows: Array) -> Array:
    return rows


def _changing(
    change: Callable[[Any, Any], Any], others: frozenset[dtypes.DType]
) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op for numbers, and for the types `others`.

    `change` takes rows and the values for them.
    """

    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0]
        is_number = dtype.is_floating or dtype.is_integer or dtype.is_complex

        def changed(x: Array, i: Array, v: Array) -> Array:
            if not is_number and dtype not in others:
                raise invalid(f"Unsupported data type: {dtype.name}")
            _check(x, i, v)
            result = x.copy()
            rows = [row % len(x) for row in i.tolist()]  # As in Python, row -1 is the last one.
            if rows and len(set(rows)) == len(rows):
                result[rows] = change(result[rows], v)
                return result
            for place, row in enumerate(rows):
                result[row] = change(result[row], v[place])
            return result

        return changed

    return make


def _check(x: Array, i: Array, v: Array) -> None:
    """Raise InvalidArgumentError unless `v` has a row of `x` for each number of `i`."""
    if i.ndim != 1:
        raise invalid(f"i must be a vector. {show(i.shape)}")
    if x.ndim != v.ndim or not x.ndim:
        raise invalid(
            f"x and v must have the same rank, at least 1: {show(x.shape)} vs. {show(v.shape)}"
        )
    if x.shape[1:] != v.shape[1:]:
        raise invalid(f"x and v shape doesn't match: {show(x.shape)} vs. {show(v.shape)}")
    if len(i) != len(v):
        raise invalid(
            f"i and x shape doesn't match at index 0: {show(i.shape)} vs. {show(v.shape)}"
        )
    if len(i) and not len(x):
        raise invalid(f"x has no rows to change: {show(x.shape)}")


def _copy(node: NodeContext) -> Function:
    return lambda x: x.copy()


def _empty(node: NodeContext) -> Function:
    """Return zeros even if the content does not matter, so that equal runs have equal values."""
    dtype, home = node.output_dtypes[0], node.hardware

    def empty(shape: Array) -> Array:
        sizes = sizes_in(shape)
        if dtype is dtypes.string:
            return np.full(sizes, b"", object)
        # On a device, 32-bit integers are in host memory.
        arrays: Any = np if dtype is dtypes.int32 else home.arrays
        zeros: Array = arrays.zeros(sizes, dtype.as_numpy_dtype)
        return zeros

    return empty


register(Kernel("DeepCopy", _copy))
register(Kernel("Empty", _empty))
register(Kernel("InplaceUpdate", _changing(_replaced, frozenset({dtypes.bool_, dtypes.string}))))
register(Kernel("InplaceAdd", _changing(np.add, frozenset())))
register(Kernel("InplaceSub", _changing(np.subtract, frozenset())))
