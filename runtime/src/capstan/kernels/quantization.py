"""Kernels that round numbers to the levels of a quantized type.

Sources: core/kernels/{fake_quant_ops_functor,quantize_and_dequantize_op}.h. Each step rounds to the
type of the numbers, in the order of TensorFlow 2.21, so the results are equal bit by bit. Unlike
TensorFlow 1.15, this order keeps a 0 exactly 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.memory import beside, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_HALF = np.float32(0.5)


def _levels(node: NodeContext) -> tuple[Any, Any]:
    """Return the first and the last level of a node of fake quantization."""
    bits = node.attrs["num_bits"]
    if not 2 <= bits <= 16:
        raise invalid("num_bits must be between 2 and 16, inclusive")
    return np.float32(node.attrs["narrow_range"]), np.float32(2**bits - 1)


class _Grid(NamedTuple):
    """Limits between which one of the levels is 0, the distance of two levels, and its inverse.

    If both limits of a node are 0, the limits are 0 and the others 1.
    """

    low: Any
    high: Any
    scale: Any
    inverse: Any

    @classmethod
    def nudged(cls, low: Any, high: Any, first: Any, last: Any) -> "_Grid":
        """Move limits a little, so that 0 is one of the levels from `first` to `last`."""
        with np.errstate(all="ignore"):
            scale = (high - low) / (last - first)
            inverse = (last - first) / (high - low)
            place = first - low / scale
            whole = np.trunc(place)
            whole = whole + (place - whole >= _HALF)  # Halves are rounded away from zero.
            zero = np.clip(whole, first, last)
            limits = (first - zero) * scale, (last - zero) * scale
        is_empty, none, one = (low == 0) & (high == 0), np.float32(0), np.float32(1)
        low, high = (np.where(is_empty, none, limit)[()] for limit in limits)
        return cls(low, high, *(np.where(is_empty, one, each)[()] for each in (scale, inverse)))

    def beside(self, x: Array) -> "_Grid":
        return _Grid(*(beside(each, x) for each in self))

    def rounded(self, x: Array, *, divides: bool) -> Any:
        """Return the level next to each number. TensorFlow divides by the scale of two scalars."""
        part = np.divide if divides else np.multiply
        step = self.scale if divides else self.inverse
        zero = np.floor(part(-self.low, step) + _HALF)
        shifted = np.maximum(np.minimum(x, self.high), self.low) - self.low
        return np.floor(part(shifted, step) - zero + _HALF) * self.scale

    def holds(self, x: Array) -> Any:
        return (x >= self.low) & (x <= self.high)


def _of_attributes(node: NodeContext) -> _Grid:
    low, high = np.float32(node.attrs["min"]), np.float32(node.attrs["max"])
    if low >= high:
        raise invalid(f"min has to be smaller than max, was: {low:g} >= {high:g}")
    return _Grid.nudged(low, high, *_levels(node))


def _quantize(node: NodeContext) -> Function:
    grid = _of_attributes(node)
    return lambda x: grid.rounded(x, divides=False)


def _quantize_slope(node: NodeContext) -> Function:
    grid = _of_attributes(node)

    def slope(grad: Array, x: Array) -> Any:
        _check_same(grad, x)
        return grad * grid.holds(x)

    return slope


def _check_same(grad: Array, x: Array) -> None:
    if grad.shape != x.shape:
        raise invalid("gradient and input must be the same size")


def _check_scalars(x: Array, low: Array, high: Array) -> None:
    for name, limit in (("min", low), ("max", high)):
        if limit.ndim:
            raise invalid(f"{name} must be a scalar, but its shape is {show(limit.shape)}")


def _check_channels(x: Array, low: Array, high: Array) -> None:
    for name, limit in (("min", low), ("max", high)):
        if not x.ndim or limit.shape != x.shape[-1:]:
            depth = x.shape[-1] if x.ndim else 0
            raise invalid(f"{name} has incorrect size, expected {depth} was {show(limit.shape)}")


Check = Callable[[Array, Array, Array], None]


def _quantize_between(check: Check) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        levels = _levels(node)

        def quantize(x: Array, low: Array, high: Array) -> Any:
            check(x, low, high)
            grid = _Grid.nudged(low, high, *levels).beside(x)
            rounded = grid.rounded(x, divides=not low.ndim)
            return np.where(_is_empty(low, high, x), x.dtype.type(0), rounded)

        return quantize

    return make


def _is_empty(low: Array, high: Array, x: Array) -> Array:
    """Return whether both limits are 0, in the memory of `x`."""
    return beside(np.asarray((low == 0) & (high == 0)), x)


def _slopes_between(check: Check) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        levels = _levels(node)

        def slopes(grad: Array, x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
            _check_same(grad, x)
            check(x, low, high)
            axes = tuple(range(x.ndim - low.ndim))
            grid = _Grid.nudged(low, high, *levels).beside(x)
            is_empty = _is_empty(low, high, x)
            below, above = grad * (x < grid.low), grad * (x > grid.high)
            inside = grad * (grid.holds(x) | is_empty)
            return inside, _total(below, is_empty, axes), _total(above, is_empty, axes)

        return slopes

    return make


def _total(slopes: Array, is_empty: Array, axes: tuple[int, ...]) -> Any:
    return np.where(is_empty, slopes.dtype.type(0), np.sum(slopes, axes))


def _round(node: NodeContext) -> Function:
    bits = node.attrs["num_bits"]
    quantize = _rounding(node, node.attrs["round_mode"] == b"HALF_UP")
    _check_bits(node, bits)
    return lambda x, low, high: quantize(x, low, high, bits)


def _round_to_bits(node: NodeContext) -> Function:
    quantize = _rounding(node, is_up=False)

    def quantized(x: Array, low: Array, high: Array, bits: Array) -> Any:
        if bits.ndim:
            raise invalid(f"num_bits must be a scalar, but its shape is {show(bits.shape)}")
        _check_bits(node, int(bits))
        return quantize(x, low, high, int(bits))

    return quantized


def _check_bits(node: NodeContext, bits: int) -> None:
    is_signed = bool(node.attrs["signed_input"])
    if not 0 < bits < (62 if is_signed else 63):
        raise invalid(f"num_bits is out of range: {bits} with signed_input_ {int(is_signed)}")


def _rounding(node: NodeContext, is_up: bool) -> Callable[[Array, Array, Array, int], Any]:
    """Return a function that rounds to the levels of an integer of a number of bits."""
    axis, is_given = int(node.attrs.get("axis", -1)), bool(node.attrs["range_given"])
    is_signed, is_narrow = bool(node.attrs["signed_input"]), bool(node.attrs.get("narrow_range"))

    def quantize(x: Array, low: Any, high: Any, bits: int) -> Any:
        if is_given and low > high:
            raise invalid(f"Invalid range: input_min {low} > input_max {high}")
        if not x.size and not is_given:
            return x.copy()
        kind = x.dtype.type
        first = -(2 ** (bits - 1)) + is_narrow if is_signed else 0
        last = 2 ** (bits - 1) - 1 if is_signed else 2**bits - 1
        limits = (low, high) if is_given else (on_host(x.min()), on_host(x.max()))
        low, high, scale, inverse = _scaled(*(kind(each) for each in (*limits, first, last)))
        if is_given:
            x = np.maximum(np.minimum(x, high), low)
        product = x * scale
        whole = np.floor(product + kind(0.5)) if is_up else np.rint(product)
        return whole * inverse

    def quantize_all(x: Array, low: Array, high: Array, bits: int) -> Any:
        if axis == -1:
            if is_given:
                _check_scalars(x, low, high)
            return quantize(x, low, high, bits)
        slices = _slices(x, axis)
        if is_given:
            _check_vectors(slices, low, high)
        limits = zip(low, high, strict=True) if is_given else [(None, None)] * len(slices)
        found = [quantize(each, *pair, bits) for each, pair in zip(slices, limits, strict=True)]
        return np.stack(found, axis) if found else x.copy()

    return quantize_all


def _slices(x: Array, axis: int) -> Array:
    if not 0 <= axis < x.ndim:
        raise invalid(f"Axis should be at least 0 and smaller than {x.ndim}, but is {axis}")
    return np.moveaxis(x, axis, 0)


def _check_vectors(slices: Array, low: Array, high: Array) -> None:
    for name, limit in (("input_min", low), ("input_max", high)):
        if limit.shape != slices.shape[:1]:
            raise invalid(
                f"{name} must have one element for each of {len(slices)} slices, but its shape is "
                f"{show(limit.shape)}"
            )


def _inside(node: NodeContext) -> Function:
    """The gradient is that of the numbers between the limits, and 0 elsewhere."""
    axis = int(node.attrs["axis"])

    def slopes(grad: Array, x: Array, low: Array, high: Array) -> tuple[Any, Any, Any]:
        if grad.shape != x.shape:
            raise invalid(
                f"gradient and input must have the same shape, but have {show(grad.shape)} and "
                f"{show(x.shape)}"
            )
        zeros = np.zeros_like(low), np.zeros_like(high)
        if axis == -1:
            _check_scalars(x, low, high)
        else:
            _check_vectors(_slices(x, axis), low, high)
            beside = tuple(-1 if each == axis else 1 for each in range(x.ndim))
            low, high = low.reshape(beside), high.reshape(beside)
        return np.where((x >= low) & (x <= high), grad, grad.dtype.type(0)), *zeros

    return slopes


def _round_between(node: NodeContext) -> Function:
    """The first version has its limits as attributes."""
    quantize, bits = _rounding(node, is_up=False), node.attrs["num_bits"]
    _check_bits(node, bits)

    def quantized(x: Array) -> Any:
        low, high = (x.dtype.type(node.attrs[name]) for name in ("input_min", "input_max"))
        return quantize(x, np.asarray(low), np.asarray(high), bits)

    return quantized


def _scaled(low: Any, high: Any, first: Any, last: Any) -> tuple[Any, Any, Any, Any]:
    """Return limits that fit the levels and keep 0, the scale of the levels, and its inverse."""
    largest = np.finfo(first.dtype).max
    with np.errstate(all="ignore"):
        from_low = first / low if first * low > 0 else largest
        from_high = last / high if last * high > 0 else largest
        if from_low < from_high:
            inverse = low / first
            return low, last * inverse, from_low, inverse
        inverse = high / last
        return first * inverse, high, from_high, inverse


register(Kernel("FakeQuantWithMinMaxArgs", _quantize))
register(Kernel("FakeQuantWithMinMaxArgsGradient", _quantize_slope))
for _suffix, _check in (("", _check_scalars), ("PerChannel", _check_channels)):
    register(Kernel(f"FakeQuantWithMinMaxVars{_suffix}", _quantize_between(_check)))
    register(Kernel(f"FakeQuantWithMinMaxVars{_suffix}Gradient", _slopes_between(_check)))
register(Kernel("QuantizeAndDequantize", _round_between))
register(Kernel("QuantizeAndDequantizeV2", _round))
register(Kernel("QuantizeAndDequantizeV4", _round))
register(Kernel("QuantizeAndDequantizeV4Grad", _inside))
register(Kernel("QuantizeAndDequantizeV3", _round_to_bits))
