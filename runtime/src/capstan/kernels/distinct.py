"""Kernels that find the distinct elements of a vector (core/kernels/unique_op.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array, strings
from capstan.core.shapes import show
from capstan.hardware import cpu_loops
from capstan.kernels import row_loops, runs, stacking
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Columns, Function, Join, Joined, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_SMALL_TABLE = 1 << 20
"""Up to this size, a table is faster than sorting, because only its used places are touched."""


def _unique(node: NodeContext) -> Function:
    dtype = node.output_dtypes[1].as_numpy_dtype
    loop = cpu_loops.Loop(row_loops.find_distinct)

    def unique(x: Array) -> tuple[Array, Array]:
        run = loop.after(x.size) if _suits_loop(x) else None
        if run is None:
            return distinct(x, dtype)
        values, places = _found_by(run, x, stacking.Blocks([len(x)]), dtype)
        return values.stacked, places.stacked

    return unique


def _suits_loop(x: Array) -> bool:
    """Return whether a compiled loop can find the distinct elements of `x`."""
    is_vector = x.ndim == 1 and x.dtype.kind in "iu" and x.size > 0
    return is_vector and is_on_host(x) and x.flags.c_contiguous


def _unique_with_counts(node: NodeContext) -> Function:
    dtype = node.output_dtypes[1].as_numpy_dtype

    def unique(x: Array) -> tuple[Array, Array, Array]:
        values, places = distinct(x, dtype)
        return values, places, np.bincount(places, minlength=len(values)).astype(dtype)

    return unique


def distinct(x: Array, dtype: Any) -> tuple[Array, Array]:
    """Return the distinct elements of a vector in the order of their first appearance.

    Also return the place of each element among them, in `dtype`.

    Raises:
        InvalidArgumentError: `x` is no vector.
    """
    if x.ndim != 1:
        raise invalid(f"unique expects a 1D vector, but got shape {show(x.shape)}")
    if x.dtype.hasobject:
        return _distinct_objects(x, dtype)
    if x.dtype.kind in "iu" and x.size and is_on_host(x) and x.min() >= 0:
        if not _is_dense(x):
            return _distinct_by_order(x, runs.order(x), dtype)
        first = _first_places(x)
        is_first = first == np.arange(len(x))
        rank = np.cumsum(is_first, dtype=dtype) - 1
        return x[is_first], rank[first]
    values, first, place = np.unique(x, True, True, equal_nan=False)
    # np.unique sorts by value. TensorFlow keeps the order of first appearance.
    order = np.argsort(first)
    rank = np.empty(len(order), dtype)
    rank[order] = np.arange(len(order))
    return values[order], rank[place]


def _distinct_objects(x: Array, dtype: Any) -> tuple[Array, Array]:
    elements = x.tolist()
    ranks = {element: rank for rank, element in enumerate(dict.fromkeys(elements))}
    places = np.fromiter(map(ranks.__getitem__, elements), dtype, len(elements))
    return strings(ranks, (len(ranks),)), places


def _distinct_by_order(x: Array, order: Array, dtype: Any) -> tuple[Array, Array]:
    """`order` are the places of the elements in a stable order of their values."""
    ranked = x[order]
    starts = runs.first_of_each(ranked)
    first = order[starts]
    by_place = np.argsort(first)
    rank = np.empty(len(first), dtype)
    rank[by_place] = np.arange(len(first))
    places = np.empty(len(x), dtype)
    places[order] = np.repeat(rank, runs.lengths(starts, len(x)))
    return x[first[by_place]], places


def _unique_of_several(nodes: Sequence[NodeContext]) -> Joined:
    dtype = nodes[0].output_dtypes[1].as_numpy_dtype
    loop = cpu_loops.Loop(row_loops.find_distinct)

    def unique(vectors: Sequence[Array]) -> Columns | None:
        if not stacking.are_vectors(vectors):
            return None
        blocks, numbers = stacking.Blocks.of(vectors), stacking.stacked(vectors)
        if not _suits_loop(numbers):
            return None
        run = loop.after(len(numbers))
        if run is not None:
            return _found_by(run, numbers, blocks, dtype)
        span = int(numbers.max()) + 1
        if numbers.min() < 0 or span * len(vectors) >= max(_SMALL_TABLE, 64 * len(numbers)):
            return None
        shifts = np.arange(0, span * len(vectors), span).repeat(blocks.sizes)
        first = _first_places(numbers + shifts)
        is_first = first == np.arange(len(numbers))
        found = stacking.Blocks(np.add.reduceat(is_first, blocks.starts, dtype=np.int64))
        rank = is_first.cumsum() - (found.starts + 1).repeat(blocks.sizes)
        places = rank[first].astype(dtype)
        return stacking.Column(found, numbers[is_first]), stacking.Column(blocks, places)

    return unique


def _found_by(
    run: cpu_loops.Run, numbers: Array, blocks: stacking.Blocks, dtype: Any
) -> tuple[stacking.Column, stacking.Column]:
    """Return the distinct numbers of each block, and the places of its numbers among them.

    `run` is `row_loops.find_distinct`. No block is empty.
    """
    values, places = np.empty_like(numbers), np.empty(len(numbers), dtype)
    counts = np.empty(len(blocks.sizes), np.int64)
    # At most half of the places are taken.
    size = 2 << int(blocks.sizes.max()).bit_length()
    table = np.zeros(size, np.int64)
    total = run(numbers, blocks.sizes, table, size - 1, values, places, counts)
    found = stacking.Blocks(counts)
    return stacking.Column(found, values[:total]), stacking.Column(blocks, places)


def _is_dense(x: Array) -> bool:
    """Return whether a table with a place for each number up to the largest is small enough."""
    return int(x.min()) >= 0 and int(x.max()) < max(_SMALL_TABLE, 16 * len(x))


def _first_places(x: Array) -> Array:
    """Return for each number the place at which it occurs first."""
    places = np.arange(len(x))
    # Of several numbers that NumPy writes to one place, the last one stays.
    table = np.empty(int(x.max()) + 1, places.dtype)
    table[x[::-1]] = places[::-1]
    return table[x]


def _unique_rows(node: NodeContext) -> Function:
    dtype, has_counts = node.output_dtypes[1].as_numpy_dtype, len(node.output_dtypes) == 3

    def unique(x: Array, axis: Array) -> tuple[Array, ...]:
        values, places = _distinct_along(x, axis, dtype)
        if not has_counts:
            return values, places
        at = int(axis.reshape(-1)[0]) if axis.size else 0
        counts = np.bincount(places, minlength=values.shape[at]).astype(dtype)
        return values, places, counts

    return unique


def _distinct_along(x: Array, axis: Array, dtype: Any) -> tuple[Array, Array]:
    """Return the distinct slices along an axis in the order of their first appearance.

    Raises:
        InvalidArgumentError: there is no axis and `x` is no vector, or there is no such axis.
    """
    if not axis.size:
        return distinct(x, dtype)
    if axis.shape not in ((), (1,)):
        raise invalid(f"axis expects a 1D vector with one element, but got {show(axis.shape)}")
    at = int(axis.reshape(-1)[0])
    if not -x.ndim <= at < x.ndim:
        raise invalid(f"axis expects to be between {-x.ndim} and {x.ndim}, but got {at}")
    rows = np.moveaxis(x, at, 0)
    flat = rows.reshape(len(rows), -1)
    if flat.shape[1] == 1:
        values, places = distinct(flat[:, 0], dtype)
        return np.moveaxis(values.reshape(-1, *rows.shape[1:]), 0, at).copy(), places
    if x.dtype.hasobject or not flat.size:
        keys = list(map(tuple, flat.tolist()))
        ranks = {key: rank for rank, key in enumerate(dict.fromkeys(keys))}
        places = np.fromiter(map(ranks.__getitem__, keys), dtype, len(keys))
        first = np.array([keys.index(key) for key in ranks], np.intp)
    else:
        _, first, place = np.unique(flat, True, True, axis=0)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype)
        rank[order] = np.arange(len(order))
        first, places = first[order], rank[place.reshape(-1)]
    return np.moveaxis(rows[first], 0, at).copy(), places


register(Kernel("UniqueV2", _unique_rows))
register(Kernel("UniqueWithCountsV2", _unique_rows))
register(Kernel("Unique", _unique, join=Join(_unique_of_several)))
register(Kernel("UniqueWithCounts", _unique_with_counts))
