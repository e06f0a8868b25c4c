"""Changing some rows of a table at once, also when a row is named several times.

NumPy's `ufunc.at` handles repeated rows, but element by element. Sorting the indices first lets
`reduceat` sum what belongs to one row, and everything else works on whole rows.
"""

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.rejection import invalid


def check(indices: Array, count: int, what: str = "indices", refusal: str = "is not in") -> None:
    """See that every index names one of `count` rows.

    Raises:
        InvalidArgumentError: the first that does not, in TensorFlow's words.
    """
    if not indices.size:
        return
    unsigned = np.uint32 if indices.itemsize == 4 else np.uint64
    # Read as unsigned, a negative index is too large as well.
    if np.maximum.reduce(indices.view(unsigned), None) < count:
        return
    flat = indices.ravel()
    at = int(np.flatnonzero((flat < 0) | (flat >= count))[0])
    place = ",".join(map(str, np.unravel_index(at, indices.shape)))
    element = f"{what}[{place}]" if indices.ndim else what
    raise invalid(f"{element} = {flat[at]} {refusal} [0, {count})")


def merged(indices: Array, values: Array) -> tuple[Array, Array]:
    """Sum the values of equal indices; returns each index once."""
    order = np.argsort(indices, kind="stable")
    ranked = indices[order]
    is_first = np.empty(len(ranked), bool)
    is_first[:1] = True
    np.not_equal(ranked[1:], ranked[:-1], is_first[1:])
    starts = np.flatnonzero(is_first)
    if len(starts) == len(ranked):
        return indices, values
    return ranked[starts], np.add.reduceat(values[order], starts, 0, values.dtype)


def accumulate(table: Array, indices: Array, values: Array, ufunc: np.ufunc) -> None:
    """Add to, or subtract from, rows of `table`; the indices have been checked."""
    flat = indices.reshape(-1)
    if not flat.size:
        return
    once, sums = merged(flat, values.reshape(len(flat), *table.shape[1:]))
    table[once] = ufunc(table[once], sums)
