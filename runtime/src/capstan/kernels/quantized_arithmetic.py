"""Kernels of arithmetic with quantized numbers.

Sources: core/kernels/quantized_{matmul,mul,add,bias_add,activation,batch_norm}*.cc and
quantized_instance_norm.cc, of which the paths for processors without NEON.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import quantized_numbers as quantized
from capstan.kernels.quantize import requantized
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_WIDE = quantized.levels_of(dtypes.qint32)


def _levels(node: NodeContext) -> tuple[quantized.Levels, quantized.Levels]:
    first, second = (quantized.levels_of(dtype) for dtype in node.input_dtypes[:2])
    return first, second


def _centred(found: Array, between: quantized.Limits, levels: quantized.Levels) -> Any:
    """Return the distances of levels from the level of 0, as float64, which holds sums of them."""
    return found.astype(np.float64) - np.int32(quantized.to_level(0.0, between, levels))


def _multiply_matrices(node: NodeContext) -> Function:
    levels = _levels(node)
    turned = [node.attrs[name] for name in ("transpose_a", "transpose_b")]

    def multiply(a: Array, b: Array, *limits: Array) -> tuple[Any, Any, Any]:
        ranges = quantized.limits(limits)
        quantized.check_range(ranges[0], "min_a", "max_a")
        quantized.check_range(ranges[1], "min_b", "max_b")
        for number, matrix in enumerate((a, b)):
            if matrix.ndim != 2:
                raise invalid(f"In[{number}] is not a matrix")
        first, second = (
            _centred(each.of(matrix), between, each)
            for matrix, between, each in zip((a, b), ranges, levels, strict=True)
        )
        first, second = (
            matrix.T if turn else matrix
            for matrix, turn in zip((first, second), turned, strict=True)
        )
        if first.shape[1] != second.shape[0]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {show(a.shape)}, In[1]: {show(b.shape)}"
            )
        product = quantized.wrapped(first @ second)
        return _WIDE.tensor(product), *quantized.product_range(ranges, (*levels, _WIDE))

    return multiply


def _check_broadcast(x: Array, y: Array) -> None:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise invalid(f"Incompatible shapes: {show(x.shape)} vs. {show(y.shape)}") from None


def _multiply(node: NodeContext) -> Function:
    levels = _levels(node)

    def multiply(x: Array, y: Array, *limits: Array) -> tuple[Any, Any, Any]:
        _check_broadcast(x, y)
        ranges = quantized.limits(limits)
        for between, name in zip(ranges, "xy", strict=True):
            quantized.check_range(between, f"min_{name}", f"max_{name}")
        first, second = (
            _centred(each.of(array), between, each)
            for array, between, each in zip((x, y), ranges, levels, strict=True)
        )
        product = quantized.wrapped(first * second)
        return _WIDE.tensor(product), *quantized.product_range(ranges, (*levels, _WIDE))

    return multiply


def _widened(
    found: Array, between: quantized.Limits, wanted: quantized.Limits, levels: quantized.Levels
) -> Any:
    """Return quint8 levels as qint32 levels of a wider range, at equal distances (int64)."""
    zero, one = (
        quantized.to_level(quantized.to_numbers(level, between, levels), wanted, _WIDE)
        for level in (0, 1)
    )
    return np.clip(zero + found.astype(np.int64) * (one - zero), _WIDE.lowest, _WIDE.highest)


def _one_by_one(
    found: Array, between: quantized.Limits, wanted: quantized.Limits, levels: quantized.Levels
) -> Any:
    """Return quint8 levels as qint32 levels of a wider range, each rounded for itself."""
    return quantized.to_levels(quantized.to_numbers(found, between, levels), wanted, _WIDE)


def _add(node: NodeContext) -> Function:
    levels, _ = _levels(node)

    def add(x: Array, y: Array, *limits: Array) -> tuple[Any, Any, Any]:
        _check_broadcast(x, y)
        ranges = quantized.limits(limits)
        for between, name in zip(ranges, "xy", strict=True):
            quantized.check_range(between, f"min_{name}", f"max_{name}")
        largest = max(abs(min(low for low, _ in ranges)), abs(max(high for _, high in ranges)))
        high = np.float32(largest * np.float32(1 << 14))
        # TensorFlow rounds a single number for itself.
        parts = [
            (_one_by_one if array.size == 1 else _widened)(
                levels.of(array), between, (-high, high), levels
            )
            for array, between in zip((x, y), ranges, strict=True)
        ]
        return _WIDE.tensor(quantized.wrapped(parts[0] + parts[1])), -high, high

    return add


def _add_bias(node: NodeContext) -> Function:
    levels = _levels(node)

    def add(x: Array, bias: Array, *limits: Array) -> tuple[Any, Any, Any]:
        if x.ndim < 2:
            raise invalid(f"Input tensor must be at least 2D: {show(x.shape)}")
        if bias.ndim != 1:
            raise invalid(f"Biases must be 1D: {show(bias.shape)}")
        if bias.shape != x.shape[-1:]:
            raise invalid(
                "Must provide as many biases as the last dimension of the input tensor: "
                f"{show(bias.shape)} vs. {show(x.shape)}"
            )
        ranges = quantized.limits(limits)
        largest = max(max(high, -low) for low, high in ranges)
        high = np.float32(largest * np.float32(1 << 17))
        wanted = (-high, high)
        first, second = (
            requantized(each.of(array), between, wanted, (each, _WIDE)).astype(np.int64)
            for array, between, each in zip((x, bias), ranges, levels, strict=True)
        )
        total = first + (second + quantized.clamped(0.0, wanted, _WIDE))
        return _WIDE.tensor(quantized.wrapped(total)), -high, high

    return add


def _clamp(node: NodeContext) -> Function:
    levels = quantized.levels_of(node.input_dtypes[0])
    largest = 6.0 if node.op == "QuantizedRelu6" else None

    def clamp(x: Array, *limits: Array) -> tuple[Any, Any, Any]:
        *given, low, high = limits
        between = quantized.limits([low, high])[0]
        found = np.maximum(levels.of(x), levels.numpy(quantized.clamped(0.0, between, levels)))
        most = quantized.limit(given[0]) if given else largest
        if most is not None:
            found = np.minimum(found, levels.numpy(quantized.clamped(most, between, levels)))
        return levels.tensor(found), *between

    return clamp


def _normalize(node: NodeContext) -> Function:
    levels = quantized.levels_of(node.input_dtypes[0])
    epsilon = np.float32(node.attrs["variance_epsilon"])
    scales = node.attrs["scale_after_normalization"]
    high = np.float32(1 << 20)
    wanted = (-high, high)

    def normalize(*inputs: Array) -> tuple[Any, Any, Any]:
        arrays, ranges = inputs[::3], quantized.limits([x for i, x in enumerate(inputs) if i % 3])
        for name, array, rank in zip(
            ("input", "mean", "var", "beta", "gamma"), arrays, (4, 1, 1, 1, 1), strict=True
        ):
            if array.ndim != rank:
                raise invalid(f"{name} must be {rank}-dimensional: {show(array.shape)}")
        numbers = [
            quantized.to_numbers(levels.of(array), between, levels)
            for array, between in zip(arrays, ranges, strict=True)
        ]
        images, mean, variance, beta, gamma = numbers
        scale = np.float32(1) / np.sqrt(variance + epsilon)
        scale = scale * gamma if scales else scale
        offset = -mean * scale + beta
        one = quantized.clamped(1.0, wanted, _WIDE)
        levels_of = [quantized.to_levels(x, wanted, _WIDE) for x in (images, scale, offset)]
        product = quantized.wrapped(levels_of[0] * levels_of[1]).astype(np.int64)
        quotient = np.where(product < 0, -(-product // one), product // one)
        return _WIDE.tensor(quantized.wrapped(quotient + levels_of[2])), *wanted

    return normalize


def _normalize_instances(node: NodeContext) -> Function:
    levels = quantized.levels_of(node.input_dtypes[0])
    epsilon, least = (
        np.float32(node.attrs[name]) for name in ("variance_epsilon", "min_separation")
    )
    given = tuple(np.float32(node.attrs[name]) for name in ("given_y_min", "given_y_max"))
    is_given = node.attrs["output_range_given"]
    if is_given and not given[0] < given[1]:
        raise invalid(f"given_y_min must be less than given_y_max : {given[0]:g} >= {given[1]:g}")

    def normalize(x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        first, last = quantized.limits([low, high])[0]
        if not first < last:
            raise invalid(f"input_min must be less than input_max : {first:g} >= {last:g}")
        scale = (last - first) / np.float32(255)
        values = levels.of(x).astype(np.float32)
        distances = values - values.mean((1, 2), keepdims=True)
        variance = np.square(scale * distances).mean((1, 2), keepdims=True)
        normed = scale * distances / np.sqrt(variance + epsilon)
        smallest, largest = given if is_given else (normed.min(), normed.max())
        if largest - smallest < least:
            largest = smallest + least
        between = np.float32(smallest), np.float32(largest)
        return levels.tensor(quantized.write_all(normed, between, levels)), *between

    return normalize


def _types(**names: dtypes.DType) -> dict[str, frozenset[dtypes.DType]]:
    return {name: frozenset({dtype}) for name, dtype in names.items()}


_BYTES = _types(T1=dtypes.quint8, T2=dtypes.quint8)
for _op, _make in (
    ("QuantizedMatMul", _multiply_matrices),
    ("QuantizedMul", _multiply),
    ("QuantizedAdd", _add),
):
    register(Kernel(_op, _make, types={**_BYTES, **_types(Toutput=dtypes.qint32)}))
for _type in (dtypes.quint8, dtypes.qint8):
    _signed = _types(T1=_type, T2=_type, out_type=dtypes.qint32)
    register(Kernel("QuantizedBiasAdd", _add_bias, types=_signed))
for _op in ("QuantizedRelu", "QuantizedRelu6", "QuantizedReluX"):
    for _type in (dtypes.qint32, dtypes.quint8):
        register(Kernel(_op, _clamp, types=_types(Tinput=_type, out_type=_type)))
register(
    Kernel(
        "QuantizedBatchNormWithGlobalNormalization",
        _normalize,
        types=_types(Tinput=dtypes.quint8, out_type=dtypes.qint32),
    )
)
register(Kernel("QuantizedInstanceNorm", _normalize_instances, types=_types(T=dtypes.quint8)))
