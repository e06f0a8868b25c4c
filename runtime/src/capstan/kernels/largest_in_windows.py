"""The largest elements of windows in host memory, for max pools."""

import itertools
import math
from typing import Any, Final

import numpy as np

from capstan.core import windows
from capstan.core.arrays import Array

_MANY: Final = 16_384
"""With fewer elements, the passes over `x` take less time than the calls here."""

Axes = tuple[windows.Windows, ...]


def largest(x: Array, axes: Axes, lowest: Any) -> Array:
    """Return the largest element of each window over all axes, but at least `lowest`.

    A NaN is not above any number. One axis after the other takes fewer passes than all places of a
    window, and most of them run over long rows.
    """
    result = x
    for number, axis in enumerate(axes):
        if (axis.count, axis.width, axis.before) != (axis.size, 1, 0):
            result = _along(number, result, axis, lowest)
    return np.fmax(x, lowest) if result is x else result


def _along(number: int, x: Array, axis: windows.Windows, lowest: Any) -> Array:
    before = (slice(None),) * number
    result = np.empty((*x.shape[:number], axis.count, *x.shape[number + 1 :]), x.dtype)
    is_set = False
    for _, outputs, elements in axis.inside():
        part, target = x[(*before, elements)], result[(*before, outputs)]
        if not is_set and part.shape == result.shape:
            np.fmax(part, lowest, out=result)
        else:
            if not is_set:
                result.fill(lowest)
            np.fmax(target, part, out=target)
        is_set = True
    if not is_set:
        result.fill(lowest)
    return result


def is_search_faster(x: Array, axes: Axes) -> bool:
    """Return whether `first_largest` is faster than a pass over `x` for each place of a window."""
    return x.size >= _MANY and any(axis.width > axis.stride > 1 for axis in axes)


def first_largest(x: Array, found: Array, axes: Axes) -> Array:
    """Return where each window has its largest element, `found`, for the first time.

    The places count from the first element of `x`. `x.size` stands for no place.
    """
    steps = [math.prod(x.shape[number + 1 :]) for number in range(x.ndim)]
    widths = [axis.width for axis in axes]
    offsets = []
    is_left = np.ones(found.shape, bool)
    passed = np.zeros(found.shape, np.min_scalar_type(math.prod(widths)))
    copies: dict[tuple[int, ...], Array] = {}
    for parts in itertools.product(*(tuple(axis.inside()) for axis in axes)):
        outputs = tuple(part[1] for part in parts)
        elements = _elements(x, tuple(part[2] for part in parts), copies)
        left = is_left[outputs]
        np.greater(left, np.equal(elements, found[outputs]), out=left)
        np.add(passed, is_left, out=passed, casting="unsafe")
        offsets.append(sum(part[0] * step for part, step in zip(parts, steps, strict=True)))
    starts = [
        (np.arange(axis.count) * axis.stride - axis.before) * step
        for axis, step in zip(axes, steps, strict=True)
    ]
    # From the last axis on, so that NumPy adds along rows that are already long.
    places = np.zeros(1, np.intp)
    for start in reversed(starts):
        places = np.add.outer(start, places).reshape(-1)
    places = places.reshape(found.shape)
    places += np.array([*offsets, 0]).take(passed)
    places[is_left] = x.size
    return places


def _elements(x: Array, parts: tuple[slice, ...], copies: dict[tuple[int, ...], Array]) -> Array:
    """Return `x[parts]` from a copy of the elements that all such parts share.

    In the copy, they are in long rows, which NumPy compares twice as fast.
    """
    phases = tuple(part.start % part.step for part in parts)
    copy = copies.get(phases)
    if copy is None:
        every = (slice(at, None, part.step) for at, part in zip(phases, parts, strict=True))
        copy = copies[phases] = np.ascontiguousarray(x[tuple(every)])
    return copy[
        tuple(slice(part.start // part.step, (part.stop - 1) // part.step + 1) for part in parts)
    ]
