"""Selection by a condition, element by element."""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

_WORDS: Final = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""The types of words of as many bytes as an element."""

_LONG: Final = 8_192
"""From this number of elements on, arithmetic with words is faster than branches."""

_BLOCK: Final = 32_768
"""As many words stay in the cache of a core."""


def choose(condition: Any, x: Any, y: Any, out: Array | None = None) -> Any:
    """Return the elements of `x` where the condition is true, and the elements of `y` elsewhere.

    The values are those of `np.where`. NumPy decides element by element which one to copy. Where
    the processor cannot predict the condition, that takes six times as long as the arithmetic for
    all elements here. `out` overlaps no other argument.
    """
    if _is_long(condition, x, y) and (out is None or out.flags.c_contiguous):
        out = np.empty(x.shape, x.dtype) if out is None else out
        _mix(condition, x, y, out)
        return out
    if out is None:
        return np.where(condition, x, y)
    np.copyto(out, y)
    np.copyto(out, x, where=condition)
    return out


def _is_long(condition: Any, x: Any, y: Any) -> bool:
    """Return whether the arguments are long arrays of the host, and lie in the same order."""
    return (
        type(x) is type(y) is type(condition) is np.ndarray
        and x.size >= _LONG
        and condition.shape == x.shape == y.shape
        and condition.dtype == np.bool_
        and x.dtype == y.dtype
        and not x.dtype.hasobject
        and x.dtype.itemsize in _WORDS
        and all(each.flags.c_contiguous for each in (condition, x, y))
    )


def _mix(condition: Array, x: Array, y: Array, out: Array) -> None:
    word = _WORDS[x.dtype.itemsize]
    xs, ys, outs = (each.reshape(-1).view(word) for each in (x, y, out))
    is_true = condition.reshape(-1).view(np.int8)
    masks = np.empty(min(x.size, _BLOCK), word)
    for start in range(0, x.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        first, other, result = xs[part], ys[part], outs[part]
        mask = masks[: len(result)]
        # All bits of a word are 1 where the condition is true.
        np.negative(is_true[part], mask)
        np.bitwise_xor(first, other, result)
        np.bitwise_and(result, mask, result)
        np.bitwise_xor(result, other, result)
