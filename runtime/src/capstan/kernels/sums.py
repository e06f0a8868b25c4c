"""Sums of arrays along axes."""

import functools
import math
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import blas

# NumPy's type stubs allow its arguments only by keyword, which is slower in every call.
_REDUCE: Final[Any] = np.add.reduce

_MANY: Final = 1_024
"""With fewer elements, NumPy's reduction is faster than a product."""

_LOOPS: Final = 256
"""If NumPy starts fewer loops, its reduction is faster than a product."""

_LONG: Final = 512
"""NumPy reduces longer rows as fast as the memory allows."""


Shape = tuple[int, ...]


def total(
    x: Array, axes: int | Shape, dtype: Any = None, out: Array | None = None, keep: bool = False
) -> Any:
    """Return the sum along axes, as `np.add.reduce` does with these arguments.

    NumPy calls a loop for each short row. A product with a vector of ones is the same sum, and BLAS
    often computes it ten times as fast. It adds in another order, so the last digits may differ.
    """
    if x.size >= _MANY and type(x) is np.ndarray and x.dtype.char in "fd":
        shapes = _shapes(x.shape, axes, keep)
        if shapes is not None and x.flags.c_contiguous and (dtype is None or x.dtype == dtype):
            if out is None:
                return _product(x.reshape(shapes[0]), None).reshape(shapes[1])
            if out.flags.c_contiguous and out.dtype == x.dtype:
                _product(x.reshape(shapes[0]), out)
                return out
    return _REDUCE(x, axes, dtype, out, keep)


@functools.lru_cache(4096)
def _shapes(shape: Shape, axes: int | Shape, keep: bool) -> tuple[Shape, Shape] | None:
    """Return a shape of three axes, of which the second is summed, and the shape of the sum.

    Return None if NumPy's reduction is faster, or the only one.
    """
    given = axes if isinstance(axes, tuple) else (axes,)
    places = sorted(axis + len(shape) if axis < 0 else axis for axis in given)
    if not places or places != list(range(places[0], places[0] + len(places))):
        return None
    if places[0] < 0 or places[-1] >= len(shape):
        return None
    first, last = shape[: places[0]], shape[places[-1] + 1 :]
    before, after = math.prod(first), math.prod(last)
    along = math.prod(shape) // (before * after)
    loops, length = (before, along) if after == 1 else (before * along, after)
    if loops < _LOOPS or length > _LONG or along < 2:
        return None
    return (before, along, after), first + (1,) * len(places) * keep + last


def _product(x: Array, out: Array | None) -> Array:
    """Return the sum along the second of three axes."""
    before, along, after = x.shape
    ones = np.ones(along, x.dtype)
    result = np.empty((before, after), x.dtype) if out is None else out.reshape(before, after)
    if after == 1:
        blas.dot(x.reshape(before, along), ones, result.reshape(before))
    elif before == 1:
        blas.dot(ones, x.reshape(along, after), result.reshape(after))
    else:
        blas.alone(np.matmul, ones, x, result)
    return result
