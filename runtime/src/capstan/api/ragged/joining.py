"""Concatenation of ragged tensors (python/ops/ragged/ragged_concat_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, check_ops
from capstan.api.ragged import arrays, gather, partition, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def concat(values: Any, axis: int, name: str | None = None) -> Any:
    """Return the values one after another along `axis`.

    Raises:
        ValueError: there are no values, or they have different ranks.
    """
    return _joined(values, axis, name, stacks=False)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Return the values side by side along a new axis `axis`.

    The values need not have the same shape. If one is ragged or they differ, so is the result.

    Raises:
        ValueError: there are no values, or they have different ranks.
    """
    return _joined(values, axis, name, stacks=True)


def _joined(values: Any, axis: int, name: str | None, *, stacks: bool) -> Any:
    given = list(values) if isinstance(values, list | tuple) else [values]
    with scoped(name, "RaggedConcat", given):
        return _along(given, axis, stacks=stacks)


def _along(given: Sequence[Any], axis: int, *, stacks: bool) -> Any:
    if not given:
        raise ValueError("rt_inputs may not be empty.")
    converted = [tensor.converted(each, name="rt_input") for each in given]
    dtype, parts = tensor.matched(*converted)
    if len(parts) == 1:
        return arrays.expand_dims(parts[0], axis) if stacks else parts[0]
    rank = _rank(parts)
    out_rank = rank if rank is None or not stacks else rank + 1
    axis = partition.positive_axis(axis, out_rank)
    if not any(map(tensor.is_ragged, parts)) and rank is not None:
        # The slices of tensors along the last axis may only differ in their lengths.
        if axis == (out_rank or 0) - 1 or (axis == rank - 1 and _fit(parts)):
            return array_ops.stack(parts, axis) if stacks else array_ops.concat(parts, axis)
        if rank == 1:
            lengths = raw.Pack([partition.count_of(part, dtype) for part in parts])
            values = raw.ConcatV2(parts, 0)
            return tensor.RaggedTensor.from_row_lengths(values, lengths, validate=False)
    parts = [_ragged(part, dtype) for part in parts]
    count = max(part.ragged_rank for part in parts)
    parts = [_with_rank(part, count, dtype) for part in parts]
    if axis == 0:
        return _along_first(parts, stacks=stacks)
    if axis == 1:
        return _along_second(parts, stacks=stacks)
    nested = [[part.row_splits] for part in parts]
    with graphs.get_default_graph().control_dependencies(partition.assert_equal_splits(nested)):
        values = _along([part.values for part in parts], axis - 1, stacks=stacks)
        return tensor.rows_of(values, parts[0].row_splits)


def _rank(parts: Sequence[Any]) -> int | None:
    """Return the rank of all tensors, or None if none is known."""
    rank: int | None = None
    for part in parts:
        if rank is None:
            rank = part.shape.ndims
        else:
            part.shape.assert_has_rank(rank)
    return rank


def _fit(parts: Sequence[Any]) -> bool:
    """Return whether the static shapes of tensors may be equal."""
    return all(part.shape.is_compatible_with(parts[0].shape) for part in parts[1:])


def _ragged(part: Any, dtype: dtypes.DType) -> Any:
    if tensor.is_ragged(part):
        return part
    return tensor.RaggedTensor.from_tensor(part, ragged_rank=1, row_splits_dtype=dtype)


def _with_rank(part: Any, count: int, dtype: dtypes.DType) -> Any:
    """Return a tensor with its first `count` axes after axis 0 ragged."""
    if not count:
        return part
    part = _ragged(part, dtype)
    if part.ragged_rank < count:
        return part.with_values(_with_rank(part.values, count - 1, dtype))
    return part


def _along_first(parts: Sequence[Any], *, stacks: bool) -> Any:
    values = raw.ConcatV2([part.flat_values for part in parts], 0)
    nested = [
        _continued(splits)
        for splits in zip(*(part.nested_row_splits for part in parts), strict=True)
    ]
    if stacks:
        lengths = raw.Pack([part.nrows() for part in parts])
        nested.insert(0, partition.splits_of(lengths))
    return tensor.rows_of(values, *nested)


def _continued(splits: Sequence[Any]) -> Any:
    """Return the splits of one axis of several tensors as those of their concatenation."""
    first, *others = splits
    found, end = [first], first[-1]
    for each in others:
        found.append(each[1:] + end)
        end = end + each[-1]
    return raw.ConcatV2(found, 0)


def _along_second(parts: Sequence[Any], *, stacks: bool) -> Any:
    count, nrows = len(parts), parts[0].nrows()
    message = "Input tensors have incompatible shapes."
    checks = [check_ops.assert_equal(part.nrows(), nrows, message=message) for part in parts[1:]]
    with graphs.get_default_graph().control_dependencies(checks):
        joined = _along_first(parts, stacks=False)
        # Row i of all parts comes before row i + 1 of the first.
        numbers = raw.Reshape(raw.Range(0, nrows * count, 1), [count, -1])
        order = raw.Reshape(raw.Transpose(numbers, [1, 0]), [-1])
        ordered = gather.gather(joined, order)
        if stacks:
            splits = raw.Range(0, nrows * count + 1, count)
            _set_count(parts, splits)
            return tensor.rows_of(ordered, splits)
        splits = ordered.row_splits[::count]
        _set_count(parts, splits)
        return tensor.rows_of(ordered.values, splits)


def _set_count(parts: Sequence[Any], splits: Any) -> None:
    for part in parts:
        size = tensor_shape.dimension_value(part.shape[0])
        if size is not None:
            splits.set_shape([size + 1])
