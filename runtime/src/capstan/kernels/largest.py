"""Kernels that find elements of each row by their order.

Sources: core/kernels/topk_op.cc, nth_element_op.cc.
"""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

_SHORT: Final = 64
"""The length up to which a row is sorted faster than it is divided."""

_FEW: Final = 16
"""Up to this number, the largest elements are found faster one after another."""


def top_k(node: NodeContext) -> Function:
    # Unlike its negation, the complement of an integer never overflows.
    reverse = np.negative if node.output_dtypes[0].is_floating else np.invert

    def found_in(x: Array, k: Array) -> tuple[Any, Any]:
        count = number(k, "k")
        if not x.ndim:
            raise invalid("input must be >= 1-D, got shape []")
        if count < 0:
            raise invalid(f"Need k >= 0, got {count}")
        if x.shape[-1] < count:
            raise invalid(f"input must have at least k columns. Had {x.shape[-1]}, needed {count}")
        if count <= _FEW and _is_divided(x, count) and (found := _maxima(x, count)) is not None:
            values, places = found
        else:
            places = _places(x, count, reverse)
            values = np.take_along_axis(x, places, -1)
        return values, on_host(places.astype(np.int32))

    return found_in


def _places(x: Array, count: int, reverse: Function) -> Array:
    """Return the places of the `count` largest elements of each row, the largest first."""
    if _is_divided(x, count):
        few = _chosen(x, count)
        if few is not None:
            order = np.argsort(reverse(np.take_along_axis(x, few, -1)), -1, "stable")
            return np.take_along_axis(few, order, -1)
    # A stable sort keeps the first of equal elements first.
    return np.argsort(reverse(x), -1, "stable")[..., :count]


def _is_divided(x: Array, count: int) -> bool:
    """Return whether a sort of few chosen elements is faster than a sort of all."""
    is_long = x.shape[-1] > max(_SHORT, 4 * count)
    return is_long and count > 0 and x.size > 0 and is_on_host(x) and x.dtype.kind in "iuf"


def _maxima(x: Array, count: int) -> tuple[Array, Array] | None:
    """Find the largest elements of each row one after another. Return them and their places.

    Of equal elements, the first one comes first. Return None if one of the largest is NaN, or the
    lowest number of its type, which stands for the elements that are found.
    """
    rest = x.reshape(-1, x.shape[-1]).copy()
    flat = rest.reshape(-1)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    firsts = np.arange(0, rest.size, x.shape[-1])
    values = np.empty((count, len(rest)), x.dtype)
    places = np.empty((count, len(rest)), np.intp)
    for largest, places_of_turn in zip(values, places, strict=True):
        rest.argmax(1, places_of_turn)
        at = places_of_turn + firsts
        flat.take(at, out=largest, mode="clip")
        flat[at] = lowest
    if not (values > lowest).all():
        return None
    shape = (*x.shape[:-1], count)
    return values.T.reshape(shape), places.T.reshape(shape)


def _chosen(x: Array, count: int) -> Array | None:
    """Return the places of the `count` largest elements of each row, from left to right.

    Of equal elements, the first ones are chosen. Return None if one of the largest is NaN.
    """
    rows = x.reshape(-1, x.shape[-1])
    largest = np.partition(rows, -count, 1)[:, -count:]
    if x.dtype.kind == "f" and np.isnan(largest).any():
        return None
    least = largest[:, :1]
    is_chosen = rows >= least
    found = np.flatnonzero(is_chosen)
    if len(found) > count * len(rows):
        is_equal = rows == least
        wanted = count - np.count_nonzero(rows > least, 1)
        is_chosen &= ~is_equal | (is_equal.cumsum(1) <= wanted[:, None])
        found = np.flatnonzero(is_chosen)
    places: Array = found % x.shape[-1]
    return places.reshape(*x.shape[:-1], count)


def _nth_element(node: NodeContext) -> Function:
    is_from_largest = bool(node.attrs["reverse"])

    def nth_element(x: Array, n: Array) -> Any:
        place = number(n, "N")
        if not x.ndim:
            raise invalid("Input must be >= 1-D, got shape []")
        if place < 0:
            raise invalid(f"Need n >= 0, got {place}")
        if x.shape[-1] <= place:
            raise invalid("Input must have at least n+1 columns")
        if is_from_largest:
            place = x.shape[-1] - 1 - place
        # The other elements of the rows are not kept.
        return np.partition(x, place, -1)[..., place].copy()

    return nth_element


register(Kernel("TopKV2", top_k))
register(Kernel("NthElement", _nth_element))
