"""Reductions of runs: consecutive rows that belong to one row of the result.

NumPy's `reduceat` calls a loop for each run and each column, so it is fast only for long runs. Here
the first rows of all runs are combined with the second rows, then with the third rows, and so on.
Only the runs that are longer are left to `reduceat`, or to one call for each of them if there is so
much data that the calls do not count. All arrays are in host memory.
"""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import sums
from capstan.kernels.memory import put_rows

_SHORT: Final = 4
"""Runs of up to this number of rows are reduced row by row."""

_MANY: Final = 512
"""With fewer runs, `reduceat` is faster, unless all runs are short. The numbers were measured."""

LARGE: Final = 1 << 19
"""From this number of elements on, each long run is reduced by itself."""

_LONG: Final = 32
"""Runs of more rows are long if there are `LARGE` elements."""

_ALONE: Final = 16
"""So few runs are reduced one by one."""

_FEW: Final = 128
"""Up to this number, NumPy sorts 64-bit integers as fast as 16-bit integers."""


def first_of_each(ranked: Array) -> Array:
    """Return the place of the first of each run of equal elements of a vector."""
    is_first = np.empty(len(ranked), bool)
    is_first[:1] = True
    np.not_equal(ranked[1:], ranked[:-1], is_first[1:])
    return is_first.nonzero()[0]


def lengths(starts: Array, count: int) -> Array:
    """Return the number of rows of each run. The runs start at `starts`, the last ends at `count`.

    No run is empty.
    """
    found = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], found[:-1])
    found[-1:] = count - starts[-1:]
    return found


def order(numbers: Array) -> Array:
    """Return the places of a vector of integers, none below 0, in the order of the integers.

    Equal integers stay in their order.
    """
    if len(numbers) <= _FEW:
        return numbers.argsort(kind="stable")
    # NumPy sorts 16-bit integers by their digits, ten times as fast as larger integers.
    largest = int(numbers.max())
    found = numbers.astype(np.uint16).argsort(kind="stable")
    shift = 16
    while largest >> shift:
        digits = (numbers >> shift).astype(np.uint16)
        found = found[digits[found].argsort(kind="stable")]
        shift += 16
    return found


def reduced(
    ufunc: np.ufunc, table: Array, starts: Array, counts: Array, picks: Array | None = None
) -> Array:
    """Return one row for each run: `ufunc` combines its rows, from the first to the last.

    The rows are those of `table`, or the rows `picks` of `table`. The caller has checked `picks`,
    and the runs as for `lengths`.
    """
    if table[:1].size * int(counts.sum()) >= LARGE and table[:1].size > 1:
        return _reduced_large(ufunc, table, starts, counts, picks)
    longest = int(counts.max(initial=0))
    if longest > _SHORT and len(starts) < _MANY:
        data = table if picks is None else table.take(picks, 0, None, "clip")
        return ufunc.reduceat(data, starts, 0, table.dtype)
    result = _rows(table, starts, picks)
    for place in range(1, min(longest, _SHORT)):
        longer = (counts > place).nonzero()[0]
        following = _rows(table, starts.take(longer) + place, picks)
        combined = ufunc(result.take(longer, 0), following, casting="unsafe")
        put_rows(result, longer, combined)
    if longest > _SHORT:
        long = (counts > _SHORT).nonzero()[0]
        places, firsts = _places(starts.take(long), counts.take(long))
        put_rows(result, long, ufunc.reduceat(_rows(table, places, picks), firsts, 0, table.dtype))
    return result


def _rows(table: Array, places: Array, picks: Array | None) -> Array:
    return table.take(places if picks is None else picks.take(places), 0, None, "clip")


def _reduced_large(
    ufunc: np.ufunc, table: Array, starts: Array, counts: Array, picks: Array | None
) -> Array:
    """Return what `reduced` returns, with one call of `ufunc` for each long run."""
    result = _rows(table, starts, picks)
    left, place = ((counts > 1) & (counts <= _LONG)).nonzero()[0], 1
    while len(left) >= _ALONE:
        following = _rows(table, starts.take(left) + place, picks)
        put_rows(result, left, ufunc(result.take(left, 0), following, casting="unsafe"))
        place += 1
        left = left[counts.take(left) > place]
    alone = np.concatenate([left, (counts > _LONG).nonzero()[0]])
    reduce: Any = sums.total if ufunc is np.add else ufunc.reduce
    firsts, ends = starts.take(alone), starts.take(alone) + counts.take(alone)
    for run, first, end in zip(alone.tolist(), firsts.tolist(), ends.tolist(), strict=True):
        part = table[first:end] if picks is None else table.take(picks[first:end], 0, None, "clip")
        result[run] = reduce(part, 0, table.dtype)
    return result


def _places(starts: Array, counts: Array) -> tuple[Array, Array]:
    """Return the places of the rows of some runs, and where each run starts among them."""
    firsts = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - firsts, counts), firsts
