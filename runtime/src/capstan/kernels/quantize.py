"""Kernels that convert to and from quantized types (core/kernels/{quantize_op,dequantize_op}.cc).

Also those that change the range of levels (core/kernels/{requantize,requantization_range_op,
quantize_down_and_shrink_range}.cc).
"""

from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.kernels import quantized_numbers as quantized
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_LARGEST = np.finfo(np.float32).max
_ZERO = np.float32(0)
_FIXED = 16
"""The bits behind the point with which TensorFlow converts qint32 to quint8."""


def _check_axis(node: NodeContext) -> None:
    if node.attrs["axis"] != -1:
        raise invalid(f"{node.op}: axis must be -1, as in TensorFlow 1")


def _quantize(node: NodeContext) -> Function:
    _check_axis(node)
    levels = quantized.levels_of(node.output_dtypes[0])
    mode, is_even = node.attrs["mode"], node.attrs["round_mode"] == b"HALF_TO_EVEN"
    if is_even and mode != b"SCALED":
        raise invalid(
            "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is "
            f"'{mode.decode()}'."
        )
    least = np.float32(node.attrs["ensure_minimum_range"])

    def quantize(x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        between = _widened(quantized.limit(low), quantized.limit(high), least)
        if mode == b"MIN_COMBINED":
            found = _combined(x, between, levels)
        elif mode == b"MIN_FIRST":
            found = quantized.write_all(x, between, levels)
        else:
            lowest = levels.lowest + bool(node.attrs["narrow_range"])
            between, scale = _scaled(between, lowest, levels.highest)
            product = _between(x, between) * scale
            rounded = np.rint(product) if is_even else quantized.half_away(product)
            found = _as_integers(rounded, levels)
        return levels.tensor(found), *between

    return quantize


def _widened(low: Any, high: Any, least: Any) -> quantized.Limits:
    """Return limits that are not too close together and have 0 between them."""
    if high < low:
        raise invalid("input_max_range must be larger than input_min_range.")
    first = min(_ZERO, low)
    distance = max(np.float32(1), abs(low), abs(high)) * least
    return first, max(_ZERO, high, first + distance)


def _between(x: Array, between: quantized.Limits) -> Any:
    return np.maximum(np.minimum(x, between[1]), between[0])


def _as_integers(rounded: Any, levels: quantized.Levels) -> Any:
    """Return the levels next to rounded numbers. The largest int32 is no float32."""
    with np.errstate(invalid="ignore"):
        return np.clip(rounded.astype(np.float64), levels.lowest, levels.highest).astype(
            levels.numpy
        )


def _combined(x: Array, between: quantized.Limits, levels: quantized.Levels) -> Any:
    low, high = between
    scale = np.float32(np.float64(levels.highest - levels.lowest) / (high - low))
    place = (_between(x, between) - low) * scale
    if levels.lowest == 0:
        return _as_integers(np.trunc(place + np.float32(0.5)), levels)
    half = np.float32(levels.steps / 2)
    return _as_integers(quantized.half_away(place - half), levels)


def _scaled(between: quantized.Limits, lowest: int, highest: int) -> tuple[quantized.Limits, Any]:
    """Return limits at which 0 is level 0, and the levels for a distance of 1."""
    low, high = between
    first, last = np.float32(lowest), np.float32(highest)
    from_low = first / low if first * low > 0 else _LARGEST
    from_high = last / high if last * high > 0 else _LARGEST
    scale = min(from_low, from_high)
    return (first / scale, last / scale), scale


def _dequantize(node: NodeContext) -> Function:
    _check_axis(node)
    levels = quantized.levels_of(node.input_dtypes[0])
    mode = node.attrs["mode"]
    lowest, highest = np.float32(levels.lowest), np.float32(levels.highest)
    half = np.float32(levels.steps / 2 if levels.lowest else 0)

    def dequantize(x: Array, low_limit: Array, high_limit: Array) -> Any:
        found = levels.of(x)
        low, high = quantized.limit(low_limit), quantized.limit(high_limit)
        if mode == b"MIN_FIRST":
            numbers = quantized.read_all(found, (low, high), levels)
        elif mode == b"MIN_COMBINED":
            scale = (high - low) / (highest - lowest)
            numbers = (found.astype(np.float32) + half) * scale + low
        else:
            first = np.float32(levels.lowest + bool(node.attrs["narrow_range"]))
            scale = high / highest if levels.lowest == 0 else max(low / first, high / highest)
            numbers = found.astype(np.float32) * scale
        return numbers.astype(node.output_dtypes[0].as_numpy_dtype)

    return dequantize


def _used_range(found: Array, between: quantized.Limits, levels: quantized.Levels) -> Any:
    """Return the range of the levels that an array has, widened to 0 below."""
    if not found.size:
        least, most = levels.highest, levels.lowest
    else:
        least, most = found.min(), found.max()
    low = min(_ZERO, np.float32(quantized.to_numbers(least, between, levels)))
    return low, np.float32(quantized.to_numbers(most, between, levels))


def _range(node: NodeContext) -> Function:
    levels = quantized.levels_of(node.input_dtypes[0])

    def used(x: Array, low: Array, high: Array) -> Any:
        return _used_range(levels.of(x), quantized.limits([low, high])[0], levels)

    return used


def requantized(
    found: Array,
    between: quantized.Limits,
    wanted: quantized.Limits,
    levels: tuple[quantized.Levels, quantized.Levels],
) -> Any:
    """Return the levels in another range and type of the numbers of an array of levels."""
    given, other = levels
    if given.dtype is dtypes.qint32 and other.dtype is dtypes.quint8:
        return _in_fixed_point(found, between, wanted)
    return quantized.write_all(quantized.read_all(found, between, given), wanted, other)


def _in_fixed_point(found: Array, between: quantized.Limits, wanted: quantized.Limits) -> Any:
    (low, high), (first, last) = between, wanted
    size = last - first
    if size == 0:
        return np.zeros(found.shape, np.uint8)
    one = 1 << _FIXED
    inverse = np.float32(255.0 / np.float64(size))
    middle = np.float32(np.float64(low + high) / 2.0)
    scale = int(255.0 * one * np.float64(high - low) / np.float64(size))
    offset = int(np.float32(middle * inverse) * np.float32(one))
    start = int(one * (np.float64(first) * 255.0) / np.float64(size))
    product = (found.astype(np.int64) * scale) >> 32
    place = (product + (offset - start + one // 2)) >> _FIXED
    return np.clip(place, 0, 255).astype(np.uint8)


def _requantize(node: NodeContext) -> Function:
    given, wanted = (
        quantized.levels_of(dtype) for dtype in (node.input_dtypes[0], node.output_dtypes[0])
    )

    def requantize(x: Array, *limits: Array) -> tuple[Any, Any, Any]:
        between, target = quantized.limits(limits)
        if target[0] > 0:
            raise invalid(f"requested_output_min must be <= 0, but got {target[0]:g}")
        if target[1] < target[0]:
            raise invalid(
                "requested_output_max must be >= requested_output_min, but got "
                f"{target[1]:g} and {target[0]:g}"
            )
        found = requantized(given.of(x), between, target, (given, wanted))
        return wanted.tensor(found), *target

    return requantize


def _shrink(node: NodeContext) -> Function:
    given, wanted = (
        quantized.levels_of(dtype) for dtype in (node.input_dtypes[0], node.output_dtypes[0])
    )

    def shrink(x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        found, between = given.of(x), quantized.limits([low, high])[0]
        target = _used_range(found, between, given)
        return wanted.tensor(requantized(found, between, target, (given, wanted))), *target

    return shrink


_FROM = {"Tinput": frozenset({dtypes.qint32})}
register(Kernel("QuantizeV2", _quantize))
register(Kernel("Dequantize", _dequantize))
register(Kernel("RequantizationRange", _range, types=_FROM))
register(
    Kernel(
        "Requantize",
        _requantize,
        types={**_FROM, "out_type": frozenset({dtypes.quint8, dtypes.qint8})},
    )
)
register(
    Kernel(
        "QuantizeDownAndShrinkRange",
        _shrink,
        types={**_FROM, "out_type": frozenset({dtypes.quint8})},
    )
)
