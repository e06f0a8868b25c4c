"""Kernels that arrange quantized numbers.

Sources: core/kernels/quantized_{concat,reshape}*.cc.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import quantized_numbers as quantized
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _concatenate(node: NodeContext) -> Function:
    levels = quantized.levels_of(node.output_dtypes[0])
    count = node.attrs["N"]

    def concatenate(axis: Array, *inputs: Array) -> tuple[Any, Any, Any]:
        arrays, lows, highs = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
        if axis.ndim:
            raise invalid(
                f"Concat dim tensor should be a scalar integer, but got shape {show(axis.shape)}"
            )
        rank, place = arrays[0].ndim, int(axis)
        if not 0 <= place < rank:
            raise invalid(
                "ConcatOp : Expected concatenating dimensions in the range "
                f"[0, {rank}), but got {place}"
            )
        _check_parts(arrays, place)
        ranges = [
            (quantized.limit(low), quantized.limit(high))
            for low, high in zip(lows, highs, strict=True)
        ]
        wanted = _common(ranges, is_signed=levels.lowest < 0)
        parts = [
            levels.of(array)
            if between == wanted
            else quantized.write_all(
                quantized.read_all(levels.of(array), between, levels), wanted, levels
            )
            for array, between in zip(arrays, ranges, strict=True)
        ]
        return levels.tensor(np.concatenate(parts, place)), *wanted

    return concatenate


def _check_parts(arrays: Any, place: int) -> None:
    first = arrays[0].shape
    for number, array in enumerate(arrays):
        shown = f"shape[0] = {show(first)} vs. shape[{number}] = {show(array.shape)}"
        if array.ndim != len(first):
            raise invalid(f"ConcatOp : Ranks of all input tensors should match: {shown}")
        same = [axis for axis in range(len(first)) if axis != place]
        if any(array.shape[axis] != first[axis] for axis in same):
            raise invalid(f"ConcatOp : Dimensions of inputs should match: {shown}")


def _common(ranges: list[quantized.Limits], *, is_signed: bool) -> quantized.Limits:
    """Return a range that has 0 and all others in it. That of a signed type is symmetric."""
    low = min(np.float32(0), *(low for low, _ in ranges))
    high = max(high for _, high in ranges)
    if not is_signed:
        return low, high
    largest = max(abs(low), abs(high))
    return -largest, largest


def _reshape(node: NodeContext) -> Function:
    def reshape(x: Array, sizes: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        try:
            shape = shapes.reshaped(x.shape, sizes.tolist())
        except ValueError as error:
            raise invalid(str(error)) from None
        return x.reshape(shape), quantized.limit(low), quantized.limit(high)

    return reshape


for _op, _make in (("QuantizedConcat", _concatenate), ("QuantizedReshape", _reshape)):
    register(Kernel(_op, _make, types={"T": frozenset({dtypes.quint8, dtypes.qint32})}))
