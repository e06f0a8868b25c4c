"""Kernels of convolutions and pools over quantized images.

Sources: core/kernels/{quantized_conv_ops,quantized_pooling_ops}.cc.
"""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import quantized_numbers as quantized
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_WIDE = quantized.levels_of(dtypes.qint32)


def _patches(x: Array, sizes: Any, node: NodeContext, fill: float) -> Any:
    """Return the windows over the images: (batch, rows, columns, channels, height, width)."""
    strides, padding = node.attrs["strides"], node.attrs["padding"]
    try:
        over = [
            windows.over(x.shape[axis], sizes[axis - 1], strides[axis], 1, padding)
            for axis in (1, 2)
        ]
    except ValueError as error:
        raise invalid(str(error)) from None
    margins = [(each.before, max(0, each.padded - each.before - each.size)) for each in over]
    padded = np.pad(x, [(0, 0), *margins, (0, 0)], constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, tuple(sizes), (1, 2))
    rows, columns = over
    return found[
        :, : (rows.count - 1) * rows.stride + 1 : rows.stride,
        : (columns.count - 1) * columns.stride + 1 : columns.stride,
    ]  # fmt: skip


def _check_conv(node: NodeContext) -> None:
    strides, dilations = node.attrs["strides"], node.attrs["dilations"]
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != 4:
            raise invalid(f"Sliding window {name} field must specify 4 dimensions")
    if strides[1] != strides[2]:
        raise invalid(
            "Current implementation only supports equal length strides in the row and column "
            "dimensions."
        )
    if (strides[0], strides[3]) != (1, 1):
        raise invalid(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if list(dilations) != [1, 1, 1, 1]:
        raise invalid("Current implementation only supports dilated rate as 1")


def _convolve(node: NodeContext) -> Function:
    _check_conv(node)
    levels = [quantized.levels_of(dtype) for dtype in node.input_dtypes[:2]]

    def convolve(images: Array, kernel: Array, *limits: Array) -> tuple[Any, Any, Any]:
        for name, array in (("input", images), ("filter", kernel)):
            if array.ndim != 4:
                raise invalid(f"{name} must be 4-dimensional: {show(array.shape)}")
        if images.shape[3] != kernel.shape[2]:
            raise invalid(
                f"input and filter must have the same depth: {images.shape[3]} vs {kernel.shape[2]}"
            )
        ranges = quantized.limits(limits)
        # A sum of products of bytes is exact in float64.
        value, weights = (
            each.of(array).astype(np.float64) - quantized.to_level(0.0, between, each)
            for array, between, each in zip((images, kernel), ranges, levels, strict=True)
        )
        patches = _patches(value, kernel.shape[:2], node, 0.0)
        total = np.tensordot(patches, weights, ([4, 5, 3], [0, 1, 2]))
        between = quantized.product_range(ranges, (*levels, _WIDE))
        return _WIDE.tensor(quantized.wrapped(total)), *between

    return convolve


def _check_pool(node: NodeContext) -> None:
    sizes, strides = node.attrs["ksize"], node.attrs["strides"]
    for name, values in (("ksize", sizes), ("strides", strides)):
        if len(values) != 4:
            raise invalid(f"Sliding window {name} field must specify 4 dimensions")
    if (sizes[0], strides[0]) != (1, 1):
        raise _unimplemented("Pooling is not yet supported on the batch dimension.")
    if sizes[3] != 1:
        raise _unimplemented("Non-spatial pooling is not yet supported.")


def _unimplemented(message: str) -> errors.UnimplementedError:
    return errors.UnimplementedError(None, None, message)


def _pool(node: NodeContext) -> Function:
    _check_pool(node)
    levels = quantized.levels_of(node.input_dtypes[0])
    sizes = node.attrs["ksize"][1:3]
    is_average = node.op == "QuantizedAvgPool"

    def pool(x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        if x.ndim != 4:
            raise invalid(f"tensor_in must be 4-dimensional: {show(x.shape)}")
        found = _patches(levels.of(x), sizes, node, levels.lowest)
        if is_average:
            ones = np.ones((1, *x.shape[1:3], 1), np.int64)
            counts = _patches(ones, sizes, node, 0).sum((4, 5))
            pooled = found.astype(np.int64).sum((4, 5)) // counts
        else:
            pooled = found.max((4, 5))
        return levels.tensor(pooled), quantized.limit(low), quantized.limit(high)

    return pool


_BYTES = frozenset({dtypes.quint8})
register(
    Kernel(
        "QuantizedConv2D",
        _convolve,
        types={"Tinput": _BYTES, "Tfilter": _BYTES, "out_type": frozenset({dtypes.qint32})},
    )
)
for _op in ("QuantizedAvgPool", "QuantizedMaxPool"):
    register(Kernel(_op, _pool, types={"T": _BYTES}))
