"""Kernels that combine the looked-up rows of a table that have the same id, and their gradients.

Sources: core/kernels/segment_reduction_ops_impl.h.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import cpu_loops
from capstan.kernels import row_loops, rows, runs, segments, stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import put_rows
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid, number

_Loops = tuple[cpu_loops.Loop, cpu_loops.Loop]
"""`row_loops.sum_segments` and `row_loops.divide_rows`, of one node or of nodes that are joined."""


def _loops() -> _Loops:
    return cpu_loops.Loop(row_loops.sum_segments), cpu_loops.Loop(row_loops.divide_rows)


def _sparse(scale: Callable[[Array], Array] | None) -> Any:
    def reduce(data: Array, indices: Array, ids: Array, loops: _Loops | None = None) -> Array:
        if indices.ndim != 1:
            raise invalid(f"indices should be a vector, but got shape {show(indices.shape)}")
        rows.check(indices, len(data), "Bad: indices", "== {} out of range")
        if loops is not None and stacking.are_vectors([ids]) and ids[-1] >= 0:
            combined = _looped(*loops, data, indices, ids, int(ids[-1]) + 1, scale)
            if combined is not None:
                return combined
        sums, found, counts = segments.reduced(data, ids, np.add, 0, indices)
        return sums if scale is None else segments.divided(sums, found, scale(counts))

    return reduce


def _with_loops(reduce: Callable[..., Array]) -> Callable[[NodeContext], Function]:
    return lambda node: functools.partial(reduce, loops=_loops())


def _counted(reduce: Callable[..., Array]) -> Any:
    """Return `reduce` for a number of segments that is given. Those without rows are 0."""

    def run(data: Array, indices: Array, ids: Array, num_segments: Array) -> Array:
        count, sums = number(num_segments, "num_segments"), reduce(data, indices, ids)
        if count < 0:
            raise invalid("segment ids must be >= 0")
        if len(sums) > count:
            raise invalid("segment ids must be < num_segments")
        result = np.zeros_like(sums, shape=(count, *sums.shape[1:]))
        result[: len(sums)] = sums
        return result

    return constantly(run)


def _joined(reduce: Callable[..., Array], scale: Callable[[Array], Array] | None) -> Join:
    """Return how one call of `reduce` serves several nodes, whose tables are stacked."""

    def join(
        loop: cpu_loops.Loop,
        division: cpu_loops.Loop,
        tables: Sequence[Array],
        indices: Sequence[Array],
        ids: Sequence[Array],
    ) -> Columns | None:
        if not stacking.are_vectors(indices, ids):
            return None
        rows_of, picked = stacking.Blocks.of(tables), stacking.Blocks.of(indices)
        picks, joined_ids = stacking.stacked(indices), stacking.stacked(ids)
        if not picked.match(stacking.Blocks.of(ids)) or joined_ids.min() < 0:
            return None
        results = stacking.Blocks(joined_ids[picked.starts + picked.sizes - 1] + 1)
        if not rows_of.contain(picks, picked):
            return None
        picks = rows_of.moved(picks, picked)
        joined_ids = results.moved(joined_ids, picked)
        table = stacking.stacked(tables)
        found = _looped(loop, division, table, picks, joined_ids, results.total, scale)
        if found is None:
            found = reduce(table, picks, joined_ids)
        return (stacking.Column(results, found),)

    def made(nodes: Sequence[NodeContext]) -> Joined:
        return functools.partial(join, *_loops())

    return Join(made)


def _looped(
    loop: cpu_loops.Loop,
    division: cpu_loops.Loop,
    table: Array,
    picks: Array,
    ids: Array,
    count: int,
    scale: Callable[[Array], Array] | None,
) -> Array | None:
    """Return `count` sums of the rows `picks` of `table`, or None if NumPy must compute them.

    The picks are in range. `loop` is `row_loops.sum_segments`, `division` that of `_divided`.
    """
    run = _compiled(loop, table, len(picks))
    if run is None or len(picks) != len(ids):
        return None
    sums = np.zeros((count, *table.shape[1:]), table.dtype)
    counts = np.zeros(count, np.int64)
    picks, ids = np.ascontiguousarray(picks), np.ascontiguousarray(ids)
    if run(sums, table, picks, ids, table[:1].size, counts):
        return None
    return sums if scale is None else _divided(division, sums, counts, scale)


def _divided(
    loop: cpu_loops.Loop, sums: Array, counts: Array, scale: Callable[[Array], Array]
) -> Array:
    """Divide the sums by the scales of their counts, in place. `loop` is `row_loops.divide_rows`.

    Quotients of float32 and small integers are the same whether float32 or float64 computes them.
    """
    divisors, run = scale(counts), loop.after(sums.size)
    if run is None or (divisors.dtype.kind != "i" and divisors.dtype != sums.dtype):
        return segments.divided(sums, counts.nonzero()[0], scale(counts[counts > 0]))
    run(sums, counts, divisors.astype(sums.dtype), sums[:1].size)
    return sums


def _compiled(loop: cpu_loops.Loop, table: Array, count: int) -> Callable[..., Any] | None:
    """Return the compiled loop over `count` rows of `table`, or None if NumPy serves better."""
    size = table[:1].size * count
    run = loop.after(size) if table.dtype.kind == "f" and size < runs.LARGE else None
    return run if stacking.suit_loops([table]) else None


def _sparse_grad(scale: Callable[[Array], Array] | None, *, of_unique: bool) -> Any:
    """Return the function of the gradient by all rows, or by the rows that are looked up."""

    def spread(
        grad: Array,
        indices: Array,
        ids: Array,
        rows_count: Array,
        loop: cpu_loops.Loop | None = None,
    ) -> Any:
        count = _checked(grad, indices, ids, rows_count)
        if loop is not None and stacking.are_vectors([ids]):
            found = _looped_grad(loop, grad, indices, ids, count, scale)
            if found is not None:
                return found
        parts = grad if scale is None else _scaled(grad, np.bincount(ids, None, len(grad)), scale)
        if not of_unique:
            return rows.sums(indices, parts, count, ids)
        found, places = np.unique(indices, return_inverse=True)
        return rows.sums(places, parts, len(found), ids), found

    return spread


def _checked(grad: Array, indices: Array, ids: Array, rows_count: Array) -> int:
    """Return the number of rows of the table, if the other inputs of a gradient fit to it."""
    count = number(rows_count, "output_dim0")
    if indices.shape != ids.shape:
        raise invalid("segment_ids and indices should have same size.")
    if len(ids) and ids[-1] >= len(grad):
        raise invalid("Invalid number of segments")
    _check_range("Segment id", ids, len(grad))
    _check_range("Index", indices, count)
    return count


def _grad_loop(scale: Callable[[Array], Array] | None) -> cpu_loops.Loop:
    return cpu_loops.Loop(row_loops.add_rows if scale is None else row_loops.add_quotients)


def _with_loop(
    spread: Callable[..., Array], scale: Callable[[Array], Array] | None
) -> Callable[[NodeContext], Function]:
    return lambda node: functools.partial(spread, loop=_grad_loop(scale))


def _check_range(what: str, numbers: Array, count: int) -> None:
    is_out = (numbers < 0) | (numbers >= count)
    if is_out.any():
        raise invalid(f"{what} {numbers[is_out][0]} out of range [0, {count}).")


def _scaled(grad: Array, counts: Array, scale: Callable[[Array], Array]) -> Array:
    """Return the rows of `grad`, each divided by the scale of its count."""
    shared = (counts > 1).nonzero()[0]
    divisors = scale(counts.take(shared)).astype(grad.dtype)
    parts = grad.copy()
    column = (len(shared), *(1,) * (grad.ndim - 1))
    put_rows(parts, shared, rows.taken(grad, shared) / divisors.reshape(column))
    return parts


def _joined_grad(spread: Callable[..., Array], scale: Callable[[Array], Array] | None) -> Join:
    """Return how one call of `spread` serves several nodes, whose gradients are stacked."""

    def join(
        loop: cpu_loops.Loop,
        grads: Sequence[Array],
        indices: Sequence[Array],
        ids: Sequence[Array],
        counts: Sequence[Array],
    ) -> Columns | None:
        if not stacking.are_vectors(indices, ids):
            return None
        rows_of, looked_up = stacking.Blocks.of(grads), stacking.Blocks.of(indices)
        results = stacking.Blocks([number(count, "output_dim0") for count in counts])
        places, joined_ids = stacking.stacked(indices), stacking.stacked(ids)
        if not looked_up.match(stacking.Blocks.of(ids)):
            return None
        if not results.contain(places, looked_up) or not rows_of.contain(joined_ids, looked_up):
            return None
        places = results.moved(places, looked_up)
        joined_ids = rows_of.moved(joined_ids, looked_up)
        grad = stacking.stacked(grads)
        found = _looped_grad(loop, grad, places, joined_ids, results.total, scale)
        if found is None:
            found = spread(grad, places, joined_ids, np.array(results.total))
        return (stacking.Column(results, found),)

    return Join(lambda nodes: functools.partial(join, _grad_loop(scale)))


def _looped_grad(
    loop: cpu_loops.Loop,
    grad: Array,
    places: Array,
    ids: Array,
    count: int,
    scale: Callable[[Array], Array] | None,
) -> Array | None:
    """Return `count` sums of the rows `ids` of `grad`, or None if NumPy must compute them.

    The places are below `count`, and the ids are in range.
    """
    run = _compiled(loop, grad, len(ids))
    if run is None:
        return None
    sums = np.zeros((count, *grad.shape[1:]), grad.dtype)
    places, ids = np.ascontiguousarray(places), np.ascontiguousarray(ids)
    arguments = sums, places, grad, ids, grad[:1].size
    if scale is None:
        run(*arguments)
    else:
        run(*arguments, scale(np.bincount(ids, None, len(grad))).astype(grad.dtype))
    return sums


for _name, _scale in (("Sum", None), ("Mean", np.positive), ("SqrtN", np.sqrt)):
    _reduce = _sparse(_scale)
    _join = _joined(_reduce, _scale)
    register(Kernel(f"SparseSegment{_name}", _with_loops(_reduce), join=_join))
    register(Kernel(f"SparseSegment{_name}WithNumSegments", _counted(_reduce)))
    _spread = _sparse_grad(_scale, of_unique=False)
    _join = _joined_grad(_spread, _scale)
    register(Kernel(f"SparseSegment{_name}Grad", _with_loop(_spread, _scale), join=_join))
    _spread = _sparse_grad(_scale, of_unique=True)
    register(Kernel(f"SparseSegment{_name}GradV2", constantly(_spread)))
