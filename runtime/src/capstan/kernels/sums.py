"""Sums of arrays along axes."""

import math
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

# NumPy's type stubs allow its arguments only by keyword, which is slower in every call.
_REDUCE: Final[Any] = np.add.reduce

_MANY: Final = 2_048
"""With fewer elements, NumPy's reduction is as fast as a product."""

_LONG: Final = 512
"""NumPy reduces longer rows as fast as the memory allows."""


def total(
    x: Array,
    axes: int | tuple[int, ...],
    dtype: Any = None,
    out: Array | None = None,
    keep: bool = False,
) -> Any:
    """Return the sum along axes, as `np.add.reduce` does with these arguments.

    NumPy calls a loop for each short row. A product with a vector of ones is the same sum, and BLAS
    often computes it ten times as fast. It adds in another order, so the last digits may differ.
    """
    places = _places(axes, x.ndim) if _may_be_product(x, dtype, out) else None
    if places is not None:
        before, along, after = x.shape[: places.start], places, x.shape[places.stop :]
        sizes = math.prod(before), math.prod(x.shape[axis] for axis in along), math.prod(after)
        if _is_faster(*sizes):
            result = _product(x.reshape(sizes), out)
            return result.reshape(before + (1,) * len(along) * keep + after) if out is None else out
    return _REDUCE(x, axes, dtype, out, keep)


def _may_be_product(x: Array, dtype: Any, out: Array | None) -> bool:
    """Return whether BLAS can add the elements, and whether there are enough of them."""
    return (
        x.size >= _MANY
        and type(x) is np.ndarray
        and x.dtype.char in "fd"
        and x.flags.c_contiguous
        and (dtype is None or x.dtype == dtype)
        and (out is None or (out.flags.c_contiguous and out.dtype == x.dtype))
    )


def _places(axes: int | tuple[int, ...], rank: int) -> range | None:
    """Return the axes from the first to the last, or None if they are not next to each other."""
    given = axes if isinstance(axes, tuple) else (axes,)
    if not given:
        return None
    places = sorted(axis + rank if axis < 0 else axis for axis in given)
    found = range(places[0], places[0] + len(places))
    is_valid = found.start >= 0 and found.stop <= rank and places == list(found)
    return found if is_valid else None


def _is_faster(before: int, along: int, after: int) -> bool:
    """Return whether a product is faster, by the numbers of elements around and along the axes."""
    short = along if after == 1 else after
    return along > 1 and before * after > 1 and short <= _LONG


def _product(x: Array, out: Array | None) -> Array:
    """Return the sum along the second of three axes."""
    before, along, after = x.shape
    ones = np.ones(along, x.dtype)
    result = np.empty((before, after), x.dtype) if out is None else out.reshape(before, after)
    if after == 1:
        np.dot(x.reshape(before, along), ones, result.reshape(before))
    elif before == 1:
        np.dot(ones, x.reshape(along, after), result.reshape(after))
    else:
        np.matmul(ones, x, result)
    return result
