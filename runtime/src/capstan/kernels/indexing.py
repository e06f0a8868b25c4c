"""Kernels that gather rows of tensors by index, and scatter them."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows, stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, is_on_host, numbers, on_host
from capstan.kernels.registry import Columns, Function, Join, Joined, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def _gather(params: Array, indices: Array, out: Array | None = None) -> Any:
    return take(params, indices, 0, out)


def _gather_v2(node: NodeContext) -> Function:
    batch = node.attrs["batch_dims"]

    def gather(params: Array, indices: Array, axis: Array, out: Array | None = None) -> Any:
        if batch:
            return take_of_batches(params, indices, number(axis, "axis"), batch, out)
        return take(params, indices, number(axis, "axis"), out)

    return gather


def _gather_of_several(nodes: Sequence[NodeContext]) -> Joined | None:
    if any(node.attrs["batch_dims"] or np.any(node.constants.get(2, 1)) for node in nodes):
        return None
    if any(np.ndim(node.constants.get(1, (0,))) != 1 for node in nodes):
        return None

    def gather(tables: Sequence[Array], indices: Sequence[Array], _: object) -> Columns | None:
        if not stacking.are_vectors(indices):
            return None
        rows_of, picked = stacking.Blocks.of(tables), stacking.Blocks.of(indices)
        if type(tables) is not stacking.Column and rows_of.total > 4 * picked.total:
            # To stack the tables would take longer than to read the rows of each.
            return take_from_each(tables, indices)
        places = stacking.stacked(indices)
        if not rows_of.contain(places, picked):
            return None
        found = rows.taken(stacking.stacked(tables), rows_of.moved(places, picked))
        return (stacking.Column(picked, found),)

    return gather


def take_from_each(tables: Sequence[Array], indices: Sequence[Array]) -> Columns | None:
    """Return a column with the rows of each table at its indices.

    Return None if the arrays do not fit together.
    """
    if not stacking.are_vectors(indices) or not stacking.are_alike(tables):
        return None
    places = stacking.column(indices)
    if not stacking.Blocks.of(tables).contain(places.stacked, places.blocks):
        return None
    return (stacking.rows_of_each(tables, places),)


def take(params: Array, indices: Array, axis: int, out: Array | None) -> Any:
    """Return the slices of `params` at `indices` along `axis`, in `out` if it is given.

    Nothing waits for indices in the memory of a device. As on a GPU of TensorFlow, the slice at an
    index that is out of range is then zero.

    Raises:
        InvalidArgumentError: `axis` is out of range, or an index in host memory is.
    """
    if not -params.ndim <= axis < params.ndim:
        raise invalid(f"Expected axis in the range [{-params.ndim}, {params.ndim}), but got {axis}")
    at = axis % params.ndim
    if is_on_host(params):
        indices = on_host(indices)
    if is_on_host(indices):
        rows.check(indices, params.shape[at])
    if not params.size:
        # np.take refuses an empty axis, even if there are no indices.
        shape = (*params.shape[:at], *indices.shape, *params.shape[at + 1 :])
        return np.zeros_like(params, shape=shape) if out is None else _cleared(out)
    if not is_on_host(indices):
        return _take_in_range(params, indices, at, out)
    if not is_on_host(params):
        return np.take(params, beside(indices, params), at, out)
    # The indices are valid, so mode "clip" changes none. Mode "raise" would buffer `out`.
    gathered: Any = params.take(indices, axis, out, "clip")
    return gathered if isinstance(gathered, np.ndarray | np.generic) else np.array(gathered, object)


def take_of_batches(
    params: Array, indices: Array, axis: int, batch: int, out: Array | None = None
) -> Any:
    """Return the slices as `take` does, in each of the batches of the first `batch` axes.

    Raises:
        InvalidArgumentError: `axis` or `batch` is out of range, the batches of `params` and of
            `indices` differ, or an index in host memory is out of range.
    """
    if not -indices.ndim <= batch <= indices.ndim:
        ends = f"[{-indices.ndim}, {indices.ndim}]"
        raise invalid(f"Expected batch_dims in the range {ends}, but got {batch}")
    batch += indices.ndim if batch < 0 else 0
    if not -params.ndim <= axis < params.ndim:
        raise invalid(f"Expected axis in the range [{-params.ndim}, {params.ndim}), but got {axis}")
    at = axis % params.ndim
    if batch > at:
        raise invalid(f"batch_dims ({batch}) must be less than or equal to axis ({at}).")
    lead, size = params.shape[:at], params.shape[at]
    if indices.shape[:batch] != lead[:batch]:
        raise invalid(
            f"params.shape = {show(params.shape)} and indices.shape = {show(indices.shape)} must "
            f"have the same first {batch} sizes"
        )
    if is_on_host(params):
        indices = on_host(indices)
    if is_on_host(indices):
        rows.check(indices, size)
    tail = indices.shape[batch:]
    count = math.prod(lead)
    starts = numbers(count, indices) * size
    starts = starts.reshape(*lead, *(1,) * len(tail))
    places = indices.reshape(*lead[:batch], *(1,) * (at - batch), *tail)
    moved = starts + places
    if not is_on_host(indices):
        moved = np.where(rows.in_range(places, size), moved, -1)
    return take(params.reshape(count * size, *params.shape[at + 1 :]), moved, 0, out)


def _cleared(out: Array) -> Array:
    out.fill(0)
    return out


def _take_in_range(params: Array, indices: Array, axis: int, out: Array | None) -> Any:
    """Return the slices at indices of a device, and zeros for an index that is out of range."""
    is_in = rows.in_range(indices, params.shape[axis])
    gathered = np.take(params, np.where(is_in, indices, 0), axis, out)
    # Without a tuple, an index that is a scalar would leave `reshape` without arguments.
    is_out = np.logical_not(is_in).reshape((*indices.shape, *(1,) * (params.ndim - 1 - axis)))
    np.copyto(gathered, params.dtype.type(0), where=is_out)
    return gathered


def _sum_of_segments(node: NodeContext) -> Function:
    return functools.partial(_segment_sum, rows.Accumulation(np.add))


def _segment_sum(
    add: rows.Accumulation, data: Array, ids: Array, count: Array, out: Array | None = None
) -> Array:
    segments = number(count, "num_segments")
    if data.shape[: ids.ndim] != ids.shape:
        raise invalid(
            f"data.shape = {show(data.shape)} does not start with segment_ids.shape = "
            f"{show(ids.shape)}"
        )
    if is_on_host(data):
        ids = on_host(ids)
    if out is None:
        out = np.empty_like(data, shape=(segments, *data.shape[ids.ndim :]), order="C")
    out.fill(0)
    if not data.size:
        return out
    flat, values = ids.reshape(-1), data.reshape(ids.size, *out.shape[1:])
    if not is_on_host(ids):
        return _sums_in_range(out, flat, values)
    is_kept = flat >= 0
    if not is_kept.all():
        flat, values = flat[is_kept], values[beside(np.flatnonzero(is_kept), values)]
    if flat.size and flat.max() >= segments:
        rows.check(np.maximum(ids, 0), segments, "segment_ids", "= {} is out of range")
    add(out, flat, values)
    return out


def _segment_sums(
    add: rows.Accumulation, data: Sequence[Array], ids: Sequence[Array], counts: Sequence[Array]
) -> Columns | None:
    added, results = stacking.Blocks.of(ids), stacking.Blocks([number(n, "n") for n in counts])
    if not stacking.are_vectors(ids) or not added.match(stacking.Blocks.of(data)):
        return None
    segments = stacking.stacked(ids)
    if not results.contain(segments, added):
        return None
    values = stacking.stacked(data)
    sums = np.zeros((results.total, *values.shape[1:]), values.dtype)
    add(sums, results.moved(segments, added), values)
    return (stacking.Column(results, sums),)


def _sums_in_range(out: Array, ids: Array, values: Array) -> Array:
    """Add values to rows of a device. As on a GPU of TensorFlow, ids out of range are left out."""
    if not out.size:
        return out
    is_in = rows.in_range(ids, len(out))
    kept = np.where(is_in.reshape(-1, *(1,) * (values.ndim - 1)), values, values.dtype.type(0))
    rows.at(np.add, out, np.where(is_in, ids, 0), kept)
    return out


def _stitch(node: NodeContext) -> Function:
    count = node.attrs["N"]

    def stitch(*arrays: Array) -> Array:
        ids, parts = arrays[:count], arrays[count : 2 * count]
        rest = parts[0].shape[ids[0].ndim :]
        for index, (places, part) in enumerate(zip(ids, parts, strict=True)):
            if part.shape != (*places.shape, *rest):
                raise invalid(
                    f"data[{index}].shape = {show(part.shape)} does not start with "
                    f"indices[{index}].shape = {show(places.shape)} and end with {show(rest)}"
                )
        size = max((int(places.max()) + 1 for places in ids if places.size), default=0)
        # Rows that no index names are zero, and empty for strings, as in TensorFlow.
        empty: Any = b"" if parts[0].dtype.hasobject else 0
        result = np.full_like(parts[0], empty, shape=(size, *rest), order="C")
        for places, part in zip(ids, parts, strict=True):
            rows.check(places, size)
            result[beside(places, result)] = part
        return result

    return stitch


def _invert_permutation(order: Array) -> Array:
    inverse = np.full(len(order), -1, order.dtype)
    is_out = (order < 0) | (order >= len(order))
    if is_out.any():
        raise invalid(f"{order[is_out][0]} is not between 0 and {len(order)}")
    inverse[order] = np.arange(len(order))
    if (inverse < 0).any():
        duplicate = order[inverse[order] != np.arange(len(order))][0]
        raise invalid(f"{duplicate} is duplicated in the input.")
    return inverse


register(
    Kernel(
        "Gather",
        constantly(_gather),
        out=True,
        join=Join(lambda nodes: take_from_each, tables=(0,)),
    )
)
register(Kernel("GatherV2", _gather_v2, out=True, join=Join(_gather_of_several, tables=(0,))))
register(
    Kernel(
        "UnsortedSegmentSum",
        _sum_of_segments,
        out=True,
        join=Join(lambda nodes: functools.partial(_segment_sums, rows.Accumulation(np.add))),
    )
)
register(Kernel("DynamicStitch", _stitch))
register(Kernel("ParallelDynamicStitch", _stitch))
register(Kernel("InvertPermutation", constantly(_invert_permutation)))
