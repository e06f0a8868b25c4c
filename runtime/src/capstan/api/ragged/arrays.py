"""Functions that arrange, count and mask ragged tensors
(python/ops/ragged/ragged_{array_ops,squeeze_op}.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, creation_ops
from capstan.api.ragged import partition, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """Return `input` with a new axis of size 1, which has the index `axis` in the result.

    Raises:
        TypeError: `axis` is not an int.
        ValueError: there is no such axis.
    """
    with scoped(name, "RaggedExpandDims", (input,)):
        input = tensor.converted(input, name="input")
        if not tensor.is_ragged(input):
            return array_ops.expand_dims(input, axis)
        rank = input.shape.ndims
        axis = partition.positive_axis(axis, None if rank is None else rank + 1)
        if axis == 0:
            return tensor.rows_of(input, raw.Pack([0, input.nrows()]))
        if axis == 1:
            return tensor.rows_of(input, raw.Range(0, input.nrows() + 1, 1))
        return tensor.rows_of(expand_dims(input.values, axis - 1), input.row_splits)


def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the number of elements."""
    flat = tensor.converted(input).flat_values if tensor.is_ragged(input) else input
    return array_ops.size(flat, out_type=out_type, name=name)


def rank(input: Any, name: str | None = None) -> Any:
    """Return the number of axes."""
    with scoped(name, "RaggedRank", (input,)) as scope:
        if not tensor.is_ragged(input):
            return array_ops.rank(input, scope)
        input = tensor.converted(input)
        return array_ops.rank(input.flat_values) + input.ragged_rank


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Return `depth` values for each index, along a new axis after the ragged axes.

    Raises:
        ValueError: the new axis is before the end of the ragged axes.
    """
    with scoped(name, "RaggedOneHot", (indices,)):
        indices = tensor.converted(indices, name="indices")
        if axis is not None:
            axis = partition.positive_axis(axis, indices.shape.ndims)
            if axis < indices.ragged_rank:
                raise ValueError("axis may not be less than indices.ragged_rank.")
        values = creation_ops.one_hot(
            indices.flat_values, depth, on_value, off_value, axis, dtype, name
        )
        return indices.with_flat_values(values)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Repeat a tensor along each axis: `multiples` is a vector with one number per axis."""
    with scoped(name, "RaggedTile", (input, multiples)):
        input = tensor.converted(input, name="input")
        if not tensor.is_ragged(input):
            return array_ops.tile(input, multiples, name)
        dtype = input.row_splits.dtype
        multiples = partition.as_int(multiples, "multiples", dtype)
        multiples.shape.assert_has_rank(1)
        value = convert.constant_value(multiples)
        known = None if value is None else value.tolist()
        values = _tiled_values(input, multiples, known)
        return tensor.rows_of(values, *_tiled_splits(input, multiples, known))


def _tiled_values(ragged: Any, multiples: Any, known: Sequence[int] | None) -> Any:
    """Return the flat values of the result. The axes are tiled from the last ragged axis on."""
    nested = ragged.nested_row_splits
    places = raw.Range(0, nested[-1][-1], 1)
    inner = None
    for axis in range(ragged.ragged_rank, 0, -1):
        splits = nested[axis - 1]
        if inner is not None:
            # The ends of the rows in the values that are tiled already.
            splits = raw.GatherV2(inner * multiples[axis + 1], splits, 0)
        if known is None or known[axis] != 1:
            places = partition.repeat_ranges(places, splits, multiples[axis])
        inner = splits
    values = raw.GatherV2(ragged.flat_values, places, 0)
    repeats = raw.ConcatV2([multiples[:1], multiples[ragged.ragged_rank + 1 :]], 0)
    return array_ops.tile(values, repeats)


def _tiled_splits(ragged: Any, multiples: Any, known: Sequence[int] | None) -> list[Any]:
    nested = ragged.nested_row_splits
    # ends[outer][axis]: the ends of the rows of axis `outer`, counted in rows of axis `axis`.
    ends = [{axis: splits} for axis, splits in enumerate(nested)]
    for outer in range(ragged.ragged_rank):
        for axis in range(outer + 1, ragged.ragged_rank - 1):
            ends[outer][axis] = raw.GatherV2(nested[axis], ends[outer][axis - 1], 0)
    found = []
    for axis, splits in enumerate(nested):
        lengths = partition.lengths_of(splits) * multiples[axis + 1]
        repeats: Any = 1
        for outer in range(axis - 1, -1, -1):
            if known is None or known[outer + 1] != 1:
                rows = ends[outer][axis - 1] * repeats
                lengths = partition.repeat_ranges(lengths, rows, multiples[outer + 1])
            repeats = multiples[outer + 1] * repeats
        lengths = array_ops.tile(lengths, multiples[:1])
        found.append(partition.splits_of(lengths))
    return found


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """Return `input` without the axes `axis`, which have size 1. A step checks the sizes.

    Raises:
        TypeError: `axis` is not an int or a list of ints.
        ValueError: `axis` is not given, or there is no such axis.
    """
    axis = squeeze_dims if axis is None else axis
    with scoped(name, "RaggedSqueeze", (input,)):
        input = tensor.converted(input)
        if not tensor.is_ragged(input):
            return array_ops.squeeze(input, axis, name)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        axes = [axis] if isinstance(axis, int) else axis
        if not isinstance(axes, list | tuple) or not all(isinstance(each, int) for each in axes):
            raise TypeError("Axis must be a list or tuple of integers.")
        axes = [partition.positive_axis(each, input.shape.ndims) for each in axes]
        return _squeezed(input, set(axes))


def _squeezed(ragged: Any, axes: set[int]) -> Any:
    count = ragged.ragged_rank
    checks = []
    for axis, lengths in enumerate(ragged.nested_row_lengths(), 1):
        if axis in axes:
            checks.append(_assert_one(raw.All(raw.Equal(lengths, 1), [0]), axis))
    if 0 in axes:
        checks.append(_assert_one(raw.Equal(raw.Size(ragged.row_splits), 2), 0))
    values = control_flow_ops.with_dependencies(checks, ragged.flat_values)
    inner = sorted(axis - count for axis in axes if axis > count)
    if inner:
        values = array_ops.squeeze(values, inner)
    kept = [splits for axis, splits in enumerate(ragged.nested_row_splits, 1) if axis not in axes]
    if kept and 0 in axes:
        kept = kept[1:]
    found = tensor.RaggedTensor.from_nested_row_splits(values, kept)
    if axes.issuperset(range(count + 1)):
        return array_ops.squeeze(found, [0])
    return found


def _assert_one(condition: Any, axis: int) -> Any:
    return control_flow_ops.Assert(
        condition, [f"the given axis (axis = {axis}) is not squeezable!"]
    )
