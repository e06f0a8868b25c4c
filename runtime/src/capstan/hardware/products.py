"""Products of matrices, each in the way that is fastest for its shape and waits for no busy core.

OpenBLAS divides a product among its threads as soon as one thread would need some microseconds for
it. A thread that sleeps takes longer than that to wake. If other programs keep the cores busy, the
product waits for a core, often for milliseconds.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import Shape
from capstan.hardware import blas, narrow_products, shared_products

_DIVIDED: Final = 1 << 18
"""OpenBLAS divides products with more multiplications (interface/gemm.c)."""

_LARGE: Final = 1 << 20
"""A product with more multiplications takes some 15 microseconds or more in one thread. Several
threads are then faster, if each has a core for itself. The limit is a compromise: on busy cores,
one thread was faster even for products that are 16 times as large."""

_SHALLOW: Final = 32
"""A product is shallow if its sums have at most so many terms. The gradient of weights over a small
batch is one."""

_LARGE_ONCE: Final = 1 << 24
"""The limit, as `_LARGE`, for shallow products and for products with a vector, times the number of
threads. To read or to write the matrix takes about as long as to multiply, so threads help less."""


def matmul(left: Array, right: Array, out: Array | None = None) -> Any:
    """Return `np.matmul(left, right, out)`, and wait for no core that other programs keep busy."""
    if left.ndim > 1 and right.ndim > 1:
        if left.shape[-1] == right.shape[-2] == 1:
            # Of a column and a row, each sum has one term. `np.matmul` is 2 to 5 times slower.
            return np.multiply(left, right, out)
        if _is_divided(left.shape, right.shape):
            return _divided(left, right, out)
    return np.matmul(left, right, out)


def matmul_of(left: Shape, right: Shape) -> Callable[..., Any]:
    """Return `matmul`, or `np.matmul` if both do the same for arrays of these static shapes."""
    if left is None or right is None or len(left) < 2 or len(right) < 2:
        return matmul
    sizes = *left[-2:], right[-1]
    if None in sizes or left[-1] == 1 or _is_divided(left, right):
        return matmul
    return np.matmul


def _is_divided(left: Any, right: Any) -> bool:
    """Return whether OpenBLAS divides a product of such shapes among its threads."""
    rows, depth, columns = left[-2], left[-1], right[-1]
    has_vector = rows == 1 or columns == 1
    return bool(rows * depth * columns > (blas.DIVIDED if has_vector else _DIVIDED))


def _divided(left: Array, right: Array, out: Array | None) -> Any:
    """Compute a product that OpenBLAS would divide."""
    count = blas.threads()
    is_large = left.shape[-2] * left.shape[-1] * right.shape[-1] > _LARGE
    if left.ndim == right.ndim == 2 and left.shape[1] == right.shape[0]:
        if narrow_products.serves(left, right, count):
            return narrow_products.multiply(left, right, out)
        if is_large and shared_products.serves(left, right, count):
            return shared_products.multiply(left, right, out)
    if not is_large or _reads_once(left.shape, right.shape, count):
        return blas.alone(np.matmul, left, right, out)
    return np.matmul(left, right, out)


def _reads_once(left: Any, right: Any, count: int) -> bool:
    """Return whether a product takes about as long as to read or to write its matrices."""
    rows, depth, columns = left[-2], left[-1], right[-1]
    uses_once = depth <= _SHALLOW or min(rows, columns) == 1
    return bool(uses_once and rows * depth * columns * count <= _LARGE_ONCE)
