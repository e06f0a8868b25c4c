"""The division of values into rows (python/ops/ragged/ragged_tensor.py).

The row splits are the ends of the rows in the values, after a 0. Rows may also be given by their
lengths, starts or limits, or by the row of each value. The functions `from_*` add assertions that
the arguments fit if `validate` is true.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import (
    arrangement_ops,
    array_ops,
    check_ops,
    check_ranks,
    control_flow_ops,
    counting_ops,
    reduce_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@dataclass(frozen=True, slots=True)
class Partition:
    """The row splits, and other tensors that describe the same rows, if they are known."""

    row_splits: Any
    row_lengths: Any = None
    value_rowids: Any = None
    nrows: Any = None

    def cast(self, dtype: dtypes.DType) -> "Partition":
        """Return the same rows as tensors of `dtype`."""
        parts = (self.row_splits, self.row_lengths, self.value_rowids, self.nrows)
        return Partition(*(None if part is None else raw.Cast(part, DstT=dtype) for part in parts))


def splits_of(lengths: Any) -> Any:
    """Return the row splits of rows with these lengths."""
    return raw.ConcatV2([[0], raw.Cumsum(lengths, 0)], 0)


def lengths_of(splits: Any) -> Any:
    """Return the lengths of the rows between splits."""
    return splits[1:] - splits[:-1]


def count_of(tensor: Any, out_type: Any) -> Any:
    """Return the size of the first axis of a tensor."""
    return array_ops.shape(tensor, out_type=out_type)[0]


def from_row_splits(splits: Any, nvals: Any, values: Any, *, validate: bool) -> Partition:
    """Return the rows that end at `splits[1:]` in `values`. `nvals` is the number of values.

    Raises:
        ValueError: `splits` is known not to be a vector.
    """
    splits.shape.assert_has_rank(1)
    if validate:
        message = "Arguments to from_row_splits do not form a valid RaggedTensor"
        splits = _checked(
            splits,
            values,
            check_ranks.assert_rank(splits, 1, message=message),
            _assert_zero(splits[0], message),
            _assert_increasing(splits, message),
            check_ops.assert_equal(splits[-1], nvals, message=message),
        )
    return Partition(splits)


def from_row_lengths(lengths: Any, nvals: Any, values: Any, *, validate: bool) -> Partition:
    """Return the rows of these lengths. `nvals` is the number of values.

    Raises:
        ValueError: `lengths` is known not to be a vector.
    """
    lengths.shape.assert_has_rank(1)
    if validate:
        message = "Arguments to from_row_lengths do not form a valid RaggedTensor"
        lengths = _checked(
            lengths,
            values,
            check_ranks.assert_rank(lengths, 1, message=message),
            check_ops.assert_non_negative(lengths, message=message),
            check_ops.assert_equal(reduce_ops.reduce_sum(lengths), nvals, message=message),
        )
    return Partition(splits_of(lengths), row_lengths=lengths)


def from_row_starts(starts: Any, nvals: Any, values: Any, *, validate: bool) -> Partition:
    """Return the rows that begin at these places in `values`. `nvals` is the number of values.

    Raises:
        ValueError: `starts` is known not to be a vector.
    """
    starts.shape.assert_has_rank(1)
    if validate:
        message = "Arguments to from_row_starts do not form a valid RaggedTensor"
        starts = _checked(
            starts,
            values,
            check_ranks.assert_rank(starts, 1, message=message),
            _assert_zero(starts[:1], message),
            _assert_increasing(starts, message),
            check_ops.assert_less_equal(starts[-1:], nvals, message=message),
        )
    return Partition(raw.ConcatV2([starts, [nvals]], 0))


def from_row_limits(limits: Any, nvals: Any, values: Any, *, validate: bool) -> Partition:
    """Return the rows that end at these places in `values`. `nvals` is the number of values.

    Raises:
        ValueError: `limits` is known not to be a vector.
    """
    limits.shape.assert_has_rank(1)
    if validate:
        message = "Arguments to from_row_limits do not form a valid RaggedTensor"
        limits = _checked(
            limits,
            values,
            check_ranks.assert_rank(limits, 1, message=message),
            check_ops.assert_non_negative(limits[:1], message=message),
            _assert_increasing(limits, message),
            check_ops.assert_equal(limits[-1:], nvals, message=message),
        )
    return Partition(raw.ConcatV2([[0], limits], 0))


def from_value_rowids(
    rowids: Any, nrows: Any, nvals: Any, values: Any, *, validate: bool
) -> Partition:
    """Return `nrows` rows, of which `rowids` names the one of each value, in rising order.

    Raises:
        ValueError: `rowids` is known not to be a vector, or not to fit `values`.
    """
    rowids.shape.assert_has_rank(1)
    nrows, known = _rows_of(rowids, nrows)
    values.shape[:1].assert_is_compatible_with(rowids.shape)
    if validate:
        message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
        rowids = _checked(
            rowids,
            values,
            check_ranks.assert_rank(rowids, 1, message=message),
            check_ranks.assert_rank(nrows, 0, message=message),
            check_ops.assert_equal(nvals, count_of(rowids, dtypes.int32), message=message),
            check_ops.assert_non_negative(rowids[:1], message=message),
            _assert_increasing(rowids, message),
            check_ops.assert_less(rowids[-1:], nrows, message=message),
        )
    ids, count = raw.Cast(rowids, DstT=dtypes.int32), raw.Cast(nrows, DstT=dtypes.int32)
    lengths = counting_ops.bincount(
        ids, minlength=count, maxlength=count, dtype=rowids.dtype.base_dtype
    )
    splits = splits_of(lengths)
    if known is not None:
        lengths.set_shape([known])
        splits.set_shape([known + 1])
    return Partition(splits, lengths, rowids, nrows)


def _rows_of(rowids: Any, nrows: Any) -> tuple[Any, int | None]:
    """Return the number of rows as a tensor, and as a number if it is known.

    Raises:
        ValueError: the number is negative, or too small for the known row ids.
    """
    ids = convert.constant_value(rowids)
    last = None if ids is None else int(ids[-1]) if ids.size else -1
    if nrows is None:
        if last is None:
            return raw.ConcatV2([rowids[-1:], [-1]], 0)[0] + 1, None
        return convert.convert_to_tensor(last + 1, rowids.dtype.base_dtype, "nrows"), last + 1
    nrows = convert.convert_to_tensor(nrows, rowids.dtype.base_dtype, "nrows")
    nrows.shape.assert_has_rank(0)
    value = convert.constant_value(nrows)
    if value is None:
        return nrows, None
    known = int(value)
    if known < 0:
        raise ValueError(f"Expected nrows >= 0; got {known}")
    if last is not None and known < last + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, value_rowids[-1]={last}"
        )
    return nrows, known


def _checked(tensor: Any, values: Any, *checks: Any) -> Any:
    """Return `tensor` after the checks. Values that are one tensor need at least one axis."""
    if isinstance(values, graphs.Tensor):
        checks = (*checks, check_ranks.assert_rank_at_least(values, 1))
    return control_flow_ops.with_dependencies(checks, tensor)


def _assert_zero(tensor: Any, message: str) -> Any:
    zero = convert.constant(0, tensor.dtype.base_dtype)
    return check_ops.assert_equal(tensor, zero, message=message)


def _assert_increasing(tensor: Any, message: str) -> Any:
    return check_ops.assert_non_negative(tensor[1:] - tensor[:-1], message=message)


def assert_equal_splits(nested: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the checks that several ragged tensors have the same row splits on each axis.

    Raises:
        ValueError: the tensors have different numbers of ragged axes.
    """
    message = "Inputs must have identical ragged splits"
    first, *others = nested
    if any(len(splits) != len(first) for splits in others):
        raise ValueError(message)
    return [
        check_ops.assert_equal(one, other, message=message)
        for splits in others
        for one, other in zip(first, splits, strict=True)
    ]


def repeat_ranges(params: Any, splits: Any, repeats: Any) -> Any:
    """Return the rows of `params` between the splits, each row repeated as a whole.

    `repeats` is a number, or a vector with a number for each row.
    """
    repeats = convert.convert_to_tensor(repeats, name="repeats")
    if repeats.shape.ndims != 0:
        starts = arrangement_ops.repeat(splits[:-1], repeats, axis=0)
        limits = arrangement_ops.repeat(splits[1:], repeats, axis=0)
    else:
        repeated = arrangement_ops.repeat(splits, repeats, axis=0)
        count = count_of(repeated, repeats.dtype.base_dtype)
        starts, limits = repeated[: count - repeats], repeated[repeats:]
    places = raw.RaggedRange(starts, limits, raw.OnesLike(splits[0]))
    return raw.GatherV2(params, places.rt_dense_values, 0)


def as_int(value: Any, name: str, dtype: dtypes.DType) -> Any:
    """Return integers as a tensor of `dtype`.

    Raises:
        TypeError: the elements are not integers.
    """
    tensor = convert.convert_to_tensor(value, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return raw.Cast(tensor, DstT=dtype)


def positive_axis(axis: Any, ndims: int | None) -> int:
    """Return `axis` counted from the front.

    Raises:
        TypeError: `axis` is not an int.
        ValueError: there is no such axis, or `axis` is negative and the rank is unknown.
    """
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if ndims is not None:
        if 0 <= axis < ndims:
            return axis
        if -ndims <= axis < 0:
            return axis + ndims
        raise ValueError(f"axis={axis} out of bounds: expected {-ndims}<=axis<{ndims}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis
