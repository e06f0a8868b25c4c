"""Loops over rows, in the part of Python that is compiled (`hardware.cpu_loops`).

Matrices are passed as vectors, with the number of their columns. A loop returns 0, or -1 if an
index is wrong. Then it has changed nothing but its results.
"""

from typing import Any, Final

_SPREAD: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: the product with it spreads numbers that are close together."""


def add_each(table: Any, places: Any, values: Any, width: int) -> int:
    """Add each row of `values` to row `places[i]` of `table`. The indices are in range."""
    for at in range(len(places)):
        target = places[at] * width
        source = at * width
        for column in range(width):
            table[target + column] += values[source + column]
    return 0


def subtract_each(table: Any, places: Any, values: Any, width: int) -> int:
    """Subtract each row of `values` from row `places[i]` of `table`, as `add_each`."""
    for at in range(len(places)):
        target = places[at] * width
        source = at * width
        for column in range(width):
            table[target + column] -= values[source + column]
    return 0


def add_rows(sums: Any, places: Any, values: Any, picks: Any, width: int) -> int:
    """Add row `picks[i]` of `values` to row `places[i]` of `sums`. The indices are in range."""
    for at in range(len(places)):
        target = places[at] * width
        source = picks[at] * width
        for column in range(width):
            sums[target + column] += values[source + column]
    return 0


def add_quotients(
    sums: Any, places: Any, values: Any, picks: Any, width: int, divisors: Any
) -> int:
    """Add row `picks[i]` of `values`, divided by its divisor, as `add_rows`."""
    for at in range(len(places)):
        target = places[at] * width
        source = picks[at] * width
        divisor = divisors[picks[at]]
        for column in range(width):
            sums[target + column] += values[source + column] / divisor
    return 0


def sum_segments(sums: Any, values: Any, picks: Any, ids: Any, width: int, counts: Any) -> int:
    """Add row `picks[i]` of `values` to row `ids[i]` of `sums`, and count the rows of each id.

    Return -1 if the ids decrease, or one is out of range. `sums` and `counts` are zeros.
    """
    last = 0
    for at in range(len(ids)):
        segment = ids[at]
        if segment < last or segment >= len(counts):
            return -1
        last = segment
        source = picks[at] * width
        target = segment * width
        if counts[segment] == 0:
            for column in range(width):
                sums[target + column] = values[source + column]
        else:
            for column in range(width):
                sums[target + column] += values[source + column]
        counts[segment] += 1
    return 0


def divide_rows(sums: Any, counts: Any, divisors: Any, width: int) -> int:
    """Divide each row of `sums` by its divisor, if it is the sum of several rows.

    `counts` are the numbers of rows that were added.
    """
    for segment in range(len(counts)):
        if counts[segment] > 1:
            divisor = divisors[segment]
            for column in range(width):
                sums[segment * width + column] /= divisor
    return 0


def find_distinct(
    numbers: Any, sizes: Any, table: Any, mask: int, distinct: Any, places: Any, counts: Any
) -> int:
    """Find the distinct numbers of each block, in the order of their first appearance.

    The blocks have these sizes. `distinct` gets the numbers of all blocks, `counts` how many each
    has, and `places` the place of each number among those of its block. Return how many there are.

    `table` has `mask + 1` zeros: a power of two, more than the largest size. It becomes a hash
    table of places in `distinct`, which count from 1. Those of earlier blocks count as empty.
    """
    start = 0
    total = 0
    for block in range(len(sizes)):
        before = total
        for at in range(start, start + sizes[block]):
            number = numbers[at]
            slot = (number * _SPREAD >> 32) & mask
            place = table[slot]
            while place > before:
                if distinct[place - 1] == number:
                    break
                slot = (slot + 1) & mask
                place = table[slot]
            if place <= before:
                distinct[total] = number
                total += 1
                place = total
                table[slot] = place
            places[at] = place - before - 1
        counts[block] = total - before
        start += sizes[block]
    return total


def find_empty(owners: Any, columns: int, sizes: Any, counts: Any, is_empty: Any) -> int:
    """Find the rows without values of sparse tensors, of which block `k` has `counts[k]` rows.

    The row of value `i` is `owners[i * columns]`. The blocks of values have these sizes. `is_empty`
    has 1 for all rows before. Return how many rows are empty, or -1 if a row is out of range or
    before the row of the value before.
    """
    start = 0
    first = 0
    empty = len(is_empty)
    for block in range(len(sizes)):
        last = 0
        for at in range(start, start + sizes[block]):
            row = owners[at * columns]
            if row < last or row >= counts[block]:
                return -1
            last = row
            empty -= is_empty[first + row]
            is_empty[first + row] = 0
        start += sizes[block]
        first += counts[block]
    return empty
