"""Converts numbers to the levels of a quantized type, and back (core/kernels/quantization_utils.h).

A range is a pair of float32 limits. A level is an element of the integer type below a quantized
type. TensorFlow computes single numbers in float64 and arrays in float32, and so does this module,
step by step. The results are therefore equal bit by bit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.kernels.rejection import invalid

Limits = tuple[Any, Any]
"""The lower and the upper limit of a range, float32 scalars."""

_ONE_STEP_BELOW_2_31 = np.float32(2147483520.0)


class Levels(NamedTuple):
    """The levels of a quantized type."""

    dtype: dtypes.DType
    numpy: Any
    lowest: int
    highest: int

    @property
    def steps(self) -> int:
        return self.highest - self.lowest + 1

    def of(self, array: Array) -> Any:
        """Return the levels of a tensor of the quantized type, as integers in its memory."""
        return array.view(self.numpy)

    def tensor(self, levels: Array) -> Any:
        """Return a tensor of the quantized type with these levels."""
        integers = np.ascontiguousarray(levels, self.numpy)
        return integers.view(self.dtype.as_numpy_dtype).reshape(np.shape(levels))


def levels_of(dtype: dtypes.DType) -> Levels:
    """Return the levels of a quantized type."""
    numpy_type = dtypes.levels(dtype).as_numpy_dtype
    bounds = np.iinfo(numpy_type)
    return Levels(dtype, numpy_type, int(bounds.min), int(bounds.max))


def limit(array: Array) -> Any:
    """Return the limit in an input.

    Raises:
        InvalidArgumentError: the input is not a scalar.
    """
    if array.size != 1:
        raise invalid(f"A limit of a range must be a scalar, but its shape is {array.shape}")
    return np.float32(array.reshape(-1)[0])


def limits(arrays: Sequence[Array]) -> list[Limits]:
    """Return the ranges in inputs: the lower and the upper limit of each, one after another."""
    found = [limit(array) for array in arrays]
    return list(zip(found[::2], found[1::2], strict=True))


def half_away(x: Any) -> Any:
    """Round to integers, and halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(abs(x - whole) >= 0.5, np.sign(x), 0).astype(np.asarray(x).dtype)


def to_level(number: Any, between: Limits, levels: Levels) -> int:
    """Return the level of one number, which may be outside of the levels."""
    low, high = between
    if low == high:
        return levels.lowest
    adjust = levels.steps / (levels.steps - 1.0)
    scale = levels.steps / (float(high - low) * adjust)
    rounded = half_away(np.float64(number) * scale) - half_away(np.float64(low) * scale)
    return int(rounded) + levels.lowest


def clamped(number: Any, between: Limits, levels: Levels) -> int:
    """Return the level of one number, the nearest that there is."""
    return max(levels.lowest, min(levels.highest, to_level(number, between, levels)))


def to_levels(numbers: Array, between: Limits, levels: Levels) -> Any:
    """Return the levels of numbers one by one, in float64, as int64."""
    low, high = between
    if low == high:
        return np.full(np.shape(numbers), levels.lowest, np.int64)
    adjust = levels.steps / (levels.steps - 1.0)
    scale = levels.steps / (float(high - low) * adjust)
    rounded = half_away(np.float64(numbers) * scale) - half_away(np.float64(low) * scale)
    found = rounded.astype(np.int64) + levels.lowest
    return np.clip(found, levels.lowest, levels.highest)


def to_numbers(found: Any, between: Limits, levels: Levels) -> Any:
    """Return the float32 numbers of levels, computed in float64.

    TensorFlow reads a level of 32 bits as a float32.
    """
    low, high = between
    if low == high:
        return np.full(np.shape(found), low, np.float32)
    adjust = levels.steps / (levels.steps - 1.0)
    scale = float(high - low) * adjust / levels.steps
    narrow = np.float32(scale)
    rounded = np.float64(half_away(low / narrow) * narrow)
    return np.float32(rounded + (np.float64(np.float32(found)) - levels.lowest) * scale)


def read_all(found: Array, between: Limits, levels: Levels) -> Any:
    """Return the float32 numbers of an array of levels, computed in float32."""
    low, high = between
    scale = np.float32(np.float64(high - low) / (levels.steps - 1.0))
    start = low if low == high else half_away(low / scale) * scale
    first = start - np.float32(levels.lowest) * scale
    return first + found.astype(np.float32) * scale


def write_all(numbers: Array, between: Limits, levels: Levels) -> Any:
    """Return the nearest levels of an array of float32 numbers, computed in float32."""
    low, high = between
    scale = np.float32(0 if low == high else (levels.steps - 1.0) / np.float64(high - low))
    start = half_away(low * scale)
    lowest, highest = np.float32(levels.lowest), np.float32(levels.highest)
    if levels.steps > 1 << 24:
        highest = _ONE_STEP_BELOW_2_31
    with np.errstate(invalid="ignore"):
        rounded = half_away(numbers * scale) - (start - lowest)
        return np.minimum(np.maximum(rounded, lowest), highest).astype(levels.numpy)


def wrapped(values: Any) -> Any:
    """Return integers as int32, without the bits that do not fit."""
    return np.asarray(values).astype(np.int64).astype(np.int32)


def product_range(ranges: Sequence[Limits], levels: Sequence[Levels]) -> Limits:
    """Return the range of the products of numbers of two ranges.

    `levels` are those of both ranges and of the products.
    """
    one, two, result = levels
    units = (
        np.float32((high - low) / np.float32(each.steps - 1))
        for (low, high), each in zip(ranges, (one, two), strict=True)
    )
    unit = np.float32(np.prod(np.array([*units], np.float32)))
    return unit * np.float32(result.lowest), unit * np.float32(result.highest)


def check_range(between: Limits, low: str, high: str) -> None:
    """Raise InvalidArgumentError unless the range has more than one number."""
    if not between[1] > between[0]:
        raise invalid(f"{high} must be larger than {low}.")
