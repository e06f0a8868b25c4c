"""Kernels of ragged tensors: rows of different lengths, as splits and values.

Sources: core/kernels/ragged_gather_op.cc, ragged_range_op.cc, ragged_tensor_to_sparse_kernel.cc.

The splits of an axis are the ends of its rows in the next axis, after a 0. Those of the last ragged
axis are the ends of its rows in the values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def places(starts: Array, lengths: Array) -> Array:
    """Return the numbers of `lengths[i]` elements from each `starts[i]` on, one after another."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    found: Array = np.arange(total) + np.repeat(starts - before, lengths)
    return found


def ends(lengths: Array, dtype: Any) -> Array:
    """Return the splits of rows with these lengths."""
    splits = np.zeros(len(lengths) + 1, dtype)
    np.cumsum(lengths, out=splits[1:])
    return splits


def uniform(shape: Sequence[int], dtype: Any) -> list[Array]:
    """Return the splits of all axes of a dense shape but the first."""
    counts = np.cumprod(shape[:-1], dtype=np.int64).tolist()
    return [
        np.arange(count + 1, dtype=dtype) * np.dtype(dtype).type(size)
        for count, size in zip(counts, shape[1:], strict=True)
    ]


def _gather(node: NodeContext) -> Function:
    count = node.attrs["PARAMS_RAGGED_RANK"]
    kind = node.attrs["Tsplits"].as_numpy_dtype

    def gather(*inputs: Array) -> Any:
        nested, values, indices = inputs[:count], inputs[count], inputs[count + 1]
        _check_gather(nested, values, indices)
        outputs = uniform(indices.shape, kind)
        flat = indices.reshape(-1).astype(np.int64)
        starts, lengths = flat, np.ones_like(flat)
        for axis, splits in enumerate(nested):
            rows = places(starts, lengths)
            if axis + indices.ndim - 1 >= 0:
                outputs.append(ends(splits[rows + 1] - splits[rows], kind))
            starts, limits = splits[starts], splits[starts + lengths]
            lengths = limits - starts
        found = values[places(starts, lengths)]
        return (*outputs, found) if outputs else found

    return gather


def _check_gather(nested: Sequence[Array], values: Array, indices: Array) -> None:
    if not len(nested[0]):
        raise invalid("Ragged splits may not be empty")
    limit = len(nested[0]) - 1
    wrong = np.flatnonzero((indices < 0) | (indices >= limit))
    if wrong.size:
        place = [int(part) for part in np.unravel_index(int(wrong[0]), indices.shape)]
        index = indices.reshape(-1)[wrong[0]]
        at = "".join(f"{part}," for part in place).rstrip(",")
        name = f"indices[{at}]" if place else "indices"
        raise invalid(f"{name} = {index} is not in [0, {limit})")
    if not values.ndim:
        raise invalid("params.rank must be nonzero")
    sizes = [len(splits) for splits in nested[1:]] + [len(values)]
    for splits, size in zip(nested, sizes, strict=True):
        if not len(splits):
            raise invalid("Ragged splits may not be empty")
        if splits[0] < 0:
            raise invalid("Ragged splits must be non-negative")
        if splits[-1] > size:
            raise invalid("Ragged splits must not point past values")
        if (splits[1:] < splits[:-1]).any():
            raise invalid("Ragged splits must be sorted")


def _range(node: NodeContext) -> Function:
    kind = node.attrs["Tsplits"].as_numpy_dtype

    def rows(starts: Array, limits: Array, deltas: Array) -> tuple[Array, Array]:
        for name, part in (("starts", starts), ("limits", limits), ("deltas", deltas)):
            if part.ndim > 1:
                raise invalid(f"{name} must be a scalar or vector")
        sizes = {len(part) for part in (starts, limits, deltas) if part.ndim}
        if len(sizes) > 1:
            raise invalid("starts, limits, and deltas must have the same shape")
        shape = (sizes.pop() if sizes else 1,)
        starts, limits, deltas = (np.broadcast_to(part, shape) for part in (starts, limits, deltas))
        if (deltas == 0).any():
            raise invalid("Requires delta != 0")
        lengths = _counts(starts, limits, deltas)
        splits = ends(lengths, kind)
        steps = places(np.zeros_like(lengths), lengths)
        first, step = np.repeat(starts, lengths), np.repeat(deltas, lengths)
        return splits, (first + steps.astype(starts.dtype) * step).astype(starts.dtype)

    return rows


def _counts(starts: Array, limits: Array, deltas: Array) -> Array:
    """Return the length of each range."""
    is_empty = np.where(deltas > 0, limits < starts, limits > starts)
    if starts.dtype.kind == "i":
        spans, steps = np.abs(limits - starts), np.abs(deltas)
        found = (spans + steps - 1) // steps
    else:
        found = np.ceil(np.abs((limits - starts) / deltas))
    return np.where(is_empty, 0, found).astype(np.int64)


def _to_sparse(node: NodeContext) -> Function:
    def convert(*inputs: Array) -> tuple[Array, Array, Array]:
        *nested, values = inputs
        _check_sparse(nested, values)
        inner = values.shape[1:]
        size = int(np.prod(inner, dtype=np.int64))
        # The coordinates of each value, the last ragged axis first.
        columns: list[Array] = []
        at = np.arange(len(values))
        for splits in reversed(nested):
            rows = np.searchsorted(splits, at, side="right") - 1
            columns.append(at - splits[rows])
            at = rows
        columns.append(at)
        outer = np.stack(columns[::-1], 1)
        suffixes = np.indices(inner).reshape(len(inner), size).T
        indices = np.hstack(
            [np.repeat(outer, size, 0), np.tile(suffixes, (len(values), 1))]
        ).astype(np.int64)
        widths = [int(np.diff(splits).max(initial=0)) for splits in nested]
        shape = np.array([len(nested[0]) - 1, *widths, *inner], np.int64)
        return indices, values.reshape(-1), shape

    return convert


def _check_sparse(nested: Sequence[Array], values: Array) -> None:
    size = None
    unfit = "Final value of ragged splits must match the length the corresponding ragged values."
    for splits in nested:
        if not len(splits):
            raise invalid("ragged splits may not be empty.")
        if splits[0] != 0:
            raise invalid("First value of ragged splits must be 0.")
        if size is not None and len(splits) != size + 1:
            raise invalid(unfit)
        size = splits[-1]
    if not values.ndim:
        raise invalid(f"flat_values must not be a scalar, but has shape {shapes.show(())}")
    if len(values) != size:
        raise invalid(unfit)


register(Kernel("RaggedGather", _gather))
register(Kernel("RaggedRange", _range))
register(Kernel("RaggedTensorToSparse", _to_sparse))
