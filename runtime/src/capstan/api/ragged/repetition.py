"""The functions that TensorFlow's ragged functions are made of (ops/ragged/ragged_util.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    arrangement_ops,
    array_ops,
    check_ops,
    gather_ops,
    math_ops,
    reduce_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "assert_splits_match",
    "convert_to_int_tensor",
    "get_positive_axis",
    "lengths_to_splits",
    "repeat",
    "repeat_ranges",
]


def assert_splits_match(nested_splits_lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the operations that check that lists of row splits are equal.

    Raises:
        ValueError: the lists have different lengths.
    """
    message = "Inputs must have identical ragged splits"
    first, *others = nested_splits_lists
    if any(len(each) != len(first) for each in others):
        raise ValueError(message)
    return [
        check_ops.assert_equal(one, other, message=message)
        for each in others
        for one, other in zip(first, each, strict=True)
    ]


def get_positive_axis(axis: Any, ndims: int | None) -> int:
    """Return the number of an axis that may be counted from the end.

    Raises:
        TypeError: `axis` is not an int.
        ValueError: there is no such axis, or `axis` is negative and the rank is unknown.
    """
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if ndims is None:
        if axis < 0:
            raise ValueError("axis may only be negative if ndims is statically known.")
        return axis
    if not -ndims <= axis < ndims:
        raise ValueError(f"axis={axis} out of bounds: expected {-ndims}<=axis<{ndims}")
    return axis % ndims


def convert_to_int_tensor(tensor: Any, name: str, dtype: Any = dtypes.int32) -> Any:
    """Return the value as a tensor of integers of a type.

    Raises:
        TypeError: the value has elements of another kind.
    """
    found = convert.convert_to_tensor(tensor, name=name, preferred_dtype=dtype)
    if not found.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={found.dtype}")
    return math_ops.cast(found, dtype)


def lengths_to_splits(lengths: Any) -> Any:
    """Return the row splits of rows of these lengths."""
    return array_ops.concat([[0], reduce_ops.cumsum(lengths)], axis=-1)


def repeat(data: Any, repeats: Any, axis: int, name: str | None = None) -> Any:
    """Return `tf.repeat(data, repeats, axis)`."""
    return arrangement_ops.repeat(data, repeats, axis, name)


def repeat_ranges(params: Any, splits: Any, repeats: Any) -> Any:
    """Return the rows of `params` between the splits, each repeated `repeats` times.

    `repeats` has a number for each row, or one for all rows.
    """
    starts = arrangement_ops.repeat(splits[:-1], repeats, axis=0)
    limits = arrangement_ops.repeat(splits[1:], repeats, axis=0)
    places = raw.RaggedRange(starts, limits, math_ops.cast(1, starts.dtype))
    return gather_ops.gather(params, places.rt_dense_values)
