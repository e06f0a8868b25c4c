"""Updates of some rows of a table by index. An index may occur several times.

NumPy's `ufunc.at` handles repeated indices, but it works element by element. For rows of several
elements the indices are sorted here, so that `reduceat` sums the values of each row. All other
operations work on full rows.
"""

from collections.abc import Callable

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels import row_loops, runs, stacking
from capstan.kernels.memory import beside, is_on_host, on_host, put_rows
from capstan.kernels.rejection import invalid

Change = Callable[[Array, Array, Array], None]
"""Changes rows of a table by index: `change(table, indices, values)`."""

_COMPARISONS = (np.maximum, np.minimum)
_ALL_BUT_SIGN = np.int64(2**63 - 1)


def check(
    indices: Array, count: int, name: str = "indices", refusal: str = "= {} is not in"
) -> None:
    """Check that every index is in [0, count). `name` and `refusal` are for the error message.

    Raises:
        InvalidArgumentError: an index is out of range. The message shows the first such index.
    """
    if are_in(indices, count):
        return
    flat = on_host(indices).ravel()
    at = int(np.flatnonzero((flat < 0) | (flat >= count))[0])
    place = ",".join(map(str, np.unravel_index(at, indices.shape)))
    element = f"{name}[{place}]" if indices.ndim else name
    raise invalid(f"{element} {refusal.format(flat[at])} [0, {count})")


def are_in(indices: Array, count: int) -> bool:
    """Return whether every index is in [0, count)."""
    if not indices.size:
        return True
    unsigned = np.uint32 if indices.itemsize == 4 else np.uint64
    # As an unsigned integer, a negative index is too large as well.
    return bool(indices.view(unsigned).max() < count)


def in_range(indices: Array, count: int) -> Array:
    """Return which indices are in [0, count). Indices of a device stay there."""
    return np.logical_and(indices >= 0, indices < count)


def merged(indices: Array, values: Array) -> tuple[Array, Array]:
    """Return each index once, with the sum of its values. The caller has checked the indices.

    If no index occurs twice, the indices keep their order. Otherwise they are sorted.
    """
    order = runs.order(indices)
    ranked = indices[order]
    starts = runs.first_of_each(ranked)
    if len(starts) == len(ranked):
        return indices, values
    return ranked[starts], _sums(values, starts, order)


def combined(ufunc: np.ufunc, table: Array, indices: Array, values: Array) -> None:
    """Combine the values of each index by `ufunc`, and write the result to this row of `table`.

    All arrays are in host memory. Before, each row holds the identity of `ufunc`, and a row without
    values keeps it. The caller has checked the indices, a vector.
    """
    if not indices.size or not values.size:
        return
    if values.size == len(indices):
        # For single numbers, NumPy's loop is faster than sorting.
        ufunc.at(table.reshape(-1), indices, values.reshape(-1))
        return
    order = runs.order(indices)
    ranked = indices[order]
    starts = runs.first_of_each(ranked)
    lengths = runs.lengths(starts, len(order))
    put_rows(table, ranked[starts], runs.reduced(ufunc, values, starts, lengths, order))


def _sums(values: Array, starts: Array, picks: Array) -> Array:
    """Return the sum of each run of the rows `picks` of `values`. The runs start at `starts`."""
    return runs.reduced(np.add, values, starts, runs.lengths(starts, len(picks)), picks)


def taken(table: Array, indices: Array) -> Array:
    """Return rows of `table`. The caller has checked the indices, a vector beside the table."""
    # NumPy copies whole rows four times faster in this way than by `table[indices]`.
    return table.take(indices, 0, None, "clip") if is_on_host(table) else table[indices]


def sums(indices: Array, values: Array, count: int, picks: Array) -> Array:
    """Return `count` rows in host memory: row i is the sum of the values whose index is i.

    Value number j is row `picks[j]` of `values`. The caller has checked the indices and the picks.
    """
    order = runs.order(indices)
    ranked = indices[order]
    starts = runs.first_of_each(ranked)
    found = _sums(values, starts, picks[order])
    if len(found) == count:
        return found
    result = np.zeros((count, *values.shape[1:]), values.dtype)
    put_rows(result, ranked[starts], found)
    return result


class Accumulation:
    """Adds values to rows of tables, or subtracts them: `accumulation(table, indices, values)`.

    On a CPU, one compiled pass does it when it pays. It copies indices and values that are spread
    over memory. The caller has checked the indices. A node has an accumulation of its own.
    Thread-safe.
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        is_sum = ufunc is np.add
        self._loop = cpu_loops.Loop(row_loops.add_each if is_sum else row_loops.subtract_each)

    def __call__(self, table: Array, indices: Array, values: Array) -> None:
        run = self._loop.after(values.size) if is_on_host(table) else None
        if run is None or not _suit_loop(table, values):
            accumulate(self._ufunc, table, indices, values)
        elif values.size:
            places = np.ascontiguousarray(indices).reshape(-1)
            run(table, places, np.ascontiguousarray(values), table[:1].size)


def _suit_loop(table: Array, values: Array) -> bool:
    """Return whether a compiled loop may change `table` while it reads `values`."""
    is_same = table.dtype == values.dtype and not np.may_share_memory(table, values)
    return is_same and stacking.suit_loops([table])


def accumulate(ufunc: np.ufunc, table: Array, indices: Array, values: Array) -> None:
    """Apply `ufunc`, add or subtract, to rows of `table`. The caller has checked the indices."""
    flat = indices.reshape(-1)
    if not flat.size:
        return
    if not is_on_host(table):
        # CuPy adds atomically, so several values may go to one row.
        at(ufunc, table, beside(flat, table), values.reshape(len(flat), *table.shape[1:]))
        return
    if values.size == len(flat) and table.flags.c_contiguous:
        # For single numbers, NumPy's loop is faster than sorting.
        ufunc.at(table.reshape(-1), flat, values.reshape(-1))
        return
    distinct, totals = merged(flat, values.reshape(len(flat), *table.shape[1:]))
    put_rows(table, distinct, ufunc(taken(table, distinct), totals))


def replace(table: Array, indices: Array, values: Array) -> None:
    """Write values to rows of `table`. The caller has checked the indices."""
    table[indices] = values


def at(ufunc: np.ufunc, table: Array, indices: Array, values: Array) -> None:
    """Call `ufunc.at`, also where CuPy has no such method.

    CuPy subtracts only 32-bit integers, compares no half-precision numbers, rounds
    double-precision numbers to single precision before it compares them, and has no `ufunc.at` for
    bfloat16.
    """
    if is_on_host(table):
        ufunc.at(table, indices, values)
    elif ufunc is np.subtract:
        at(np.add, table, indices, np.negative(values))
    elif table.itemsize == 2 and (ufunc is not np.add or table.dtype != np.float16):
        wide = table.astype(np.float32)
        ufunc.at(wide, indices, values.astype(np.float32))
        table[...] = wide.astype(table.dtype)
    elif ufunc in _COMPARISONS and table.dtype == np.float64:
        ranks = _ranks(table)
        ufunc.at(ranks, indices, _ranks(values))
        table[...] = _ranks(ranks).view(np.float64)
    else:
        ufunc.at(table, indices, values)


def _ranks(array: Array) -> Array:
    """Return integers in the order of double-precision numbers, or the bits for such integers."""
    bits = array.view(np.int64)
    return np.bitwise_xor(bits, np.bitwise_and(np.right_shift(bits, 63), _ALL_BUT_SIGN))


def products(indices: Array, values: Array, count: int) -> Array:
    """Return the product of the values of each of `count` rows, and 1 where a row has no values.

    For arrays of a device, whose `ufunc.at` cannot multiply. `indices` is a vector in the memory
    of `values`, not empty and checked. After each pass, a sorted row holds the product of twice as
    many of the values before it that have the same index, so the last one has the whole product.
    """
    order = np.argsort(indices, kind="stable")
    ranked, totals = indices[order], values[order]
    column = (-1, *(1,) * (values.ndim - 1))
    step = 1
    while step < len(ranked):
        is_same = (ranked[step:] == ranked[:-step]).reshape(column)
        later = totals[step:]
        totals[step:] = np.where(is_same, later * totals[:-step], later)
        step *= 2
    ids = np.cumsum(np.ones_like(ranked, shape=(count,)), dtype=ranked.dtype) - 1
    last = np.searchsorted(ranked, ids, side="right") - 1
    is_found = (ranked[last] == ids).reshape(column)
    return np.where(is_found, totals[last], values.dtype.type(1))
