"""Kernels of arithmetic on two operands. They are NumPy's ufuncs where the results agree."""

import functools
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variant

_VARIANT = {"T": frozenset({dtypes.variant})}
_COMPLEX = {"T": frozenset({dtypes.complex64, dtypes.complex128})}
_STRING = {"T": frozenset({dtypes.string})}


def constantly(function: Function) -> Any:
    """Return the `make` of a kernel that runs every node with `function`."""

    def make(node: NodeContext) -> Function:
        return function

    return make


def _concatenate(x: Array, y: Array) -> Array:
    # For two scalars NumPy returns a `bytes` object instead of an array.
    return np.asarray(np.add(x, y), object)


def _integer(function: Function) -> Function:
    """Make an integer division that raises an error for a zero divisor."""

    def divide(x: Array, y: Array, out: Array | None = None) -> Any:
        try:
            with np.errstate(divide="raise"):
                return function(x, y, out)
        except FloatingPointError:
            raise invalid("Integer division by zero") from None

    return divide


def truncated(x: Array, y: Array, out: Array | None = None) -> Any:
    """Divide integers towards zero, as C does."""
    if is_on_host(x):
        return np.floor_divide(np.subtract(x, np.fmod(x, y)), y, out)
    # CuPy computes `fmod` of integers in double precision.
    quotient = np.floor_divide(x, y)
    is_rounded_down = (np.multiply(quotient, y) != x) & ((x < 0) != (y < 0))
    return np.add(quotient, is_rounded_down, out)


def division(real: Function, integer: Function) -> Any:
    """Return the `make` of a kernel that divides integers with `integer`, and others with `real`.

    An integer divided by 0 raises InvalidArgumentError.
    """
    checked = _integer(integer)

    def make(node: NodeContext) -> Function:
        if not node.output_dtypes[0].is_integer:
            return real
        divisor = node.constants.get(1)
        return checked if divisor is None or not np.all(divisor) else integer

    return make


def _div_no_nan(x: Array, y: Array, out: Array | None = None) -> Any:
    return _zero_where(np.equal(y, 0), np.true_divide(x, y, out))


def _mul_no_nan(x: Array, y: Array, out: Array | None = None) -> Any:
    return _zero_where(np.equal(y, 0), np.multiply(x, y, out))


def _xlogy(x: Array, y: Array, out: Array | None = None) -> Any:
    return _zero_where(np.equal(x, 0), np.multiply(x, np.log(y), out))


def _xlog1py(x: Array, y: Array, out: Array | None = None) -> Any:
    return _zero_where(np.equal(x, 0), np.multiply(x, np.log1p(y), out))


def _xdivy(x: Array, y: Array, out: Array | None = None) -> Any:
    return _zero_where(np.equal(x, 0), np.true_divide(x, y, out))


def _zero_where(is_zero: Any, result: Any) -> Any:
    if is_on_host(result):  # A device would have to wait for the answer.
        if not is_zero.any():
            return result
        result = np.asarray(result)
    np.copyto(result, 0, where=is_zero)
    return result


def _truncated_quotient(x: Array, y: Array, out: Array | None = None) -> Any:
    quotient = np.true_divide(x, y, out)
    return np.trunc(quotient, out)


def _floored_quotient(x: Array, y: Array, out: Array | None = None) -> Any:
    # `np.floor_divide` floors the exact quotient: 2.0 // 0.1 is 19, because 0.1 is a little more.
    return np.floor(np.true_divide(x, y, out), out)


def _maximum(x: Array, y: Array, out: Array | None = None) -> Any:
    # np.maximum and np.minimum take `out` only as a keyword.
    return np.maximum(x, y, out=out)


def _minimum(x: Array, y: Array, out: Array | None = None) -> Any:
    return np.minimum(x, y, out=out)


def _squared_difference(x: Array, y: Array, out: Array | None = None) -> Any:
    difference = np.subtract(x, y, out)
    return np.multiply(difference, difference, out)


def _complex_squared_difference(x: Array, y: Array, out: Array | None = None) -> Any:
    # As in TensorFlow, the square of a complex number is that of its absolute value here.
    difference = np.subtract(x, y, out)
    return np.multiply(difference, np.conjugate(difference), out)


def _add_two(first: Array, second: Array, out: Array | None = None) -> Any:
    if first.shape != second.shape:
        raise _different(first, 1, second)
    return np.add(first, second, out)


def _add_n(node: NodeContext) -> Function:
    count = node.attrs["N"]
    if count == 2:
        return _add_two

    def add_n(*arrays: Array) -> Any:
        first, *others = arrays[:count]
        out = arrays[count] if len(arrays) > count else None
        for index, other in enumerate(others, 1):
            if other.shape != first.shape:
                raise _different(first, index, other)
        if not others:
            return np.positive(first, out)
        total = np.add(first, others[0], out)
        for other in others[1:]:
            total = np.add(total, other, out)
        return total

    return add_n


def _different(first: Array, index: int, other: Array) -> Exception:
    return invalid(
        "Inputs to operation AddN must have the same size and shape.  "
        f"Input 0: {show(first.shape)} != input {index}: {show(other.shape)}"
    )


def _add_variants(*tensors: Array) -> Any:
    return functools.reduce(variant.added, tensors)


def _clip(x: Array, lower: Array, upper: Array, out: Array | None = None) -> Any:
    if any(bound.ndim and bound.shape != x.shape for bound in (lower, upper)):
        raise invalid(
            "clip_value_min and clip_value_max must be either of the same shape as input, or a "
            f"scalar. input shape: {show(x.shape)}clip_value_min shape: {show(lower.shape)}"
            f"clip_value_max shape: {show(upper.shape)}"
        )
    below = np.minimum(x, _bound(upper, np.inf), out=out)
    return np.maximum(below, _bound(lower, -np.inf), out=out)


def _bound(bound: Array, nothing: float) -> Array:
    """Return a bound with `nothing` for each NaN, which TensorFlow takes for no bound."""
    if bound.dtype.kind != "f":
        return bound
    return np.where(np.isnan(bound), bound.dtype.type(nothing), bound)


def _power(x: Array, y: Array, out: Array | None = None) -> Any:
    """Return powers. The C library takes long for whole exponents of negative numbers."""
    exponent = float(y) if is_on_host(y) and not y.ndim and y.dtype.kind == "f" else 0.0
    if exponent == 3:
        return np.multiply(np.multiply(x, x, out), x, out)
    if exponent == 4:
        return np.square(np.square(x, out), out)
    if exponent > 4 and exponent.is_integer():
        powers = np.power(np.abs(x), y, out)
        return np.copysign(powers, x, out) if exponent % 2 else powers
    return np.power(x, y, out)


register(Kernel("Add", constantly(_concatenate), types=_STRING))
register(
    Kernel("SquaredDifference", constantly(_complex_squared_difference), types=_COMPLEX, out=True)
)
for _op, _function, _operator in (
    ("Add", np.add, "+"),
    ("AddV2", np.add, "+"),
    ("Sub", np.subtract, "-"),
    ("Mul", np.multiply, "*"),
    ("RealDiv", np.true_divide, ""),
    ("DivNoNan", _div_no_nan, ""),
    ("MulNoNan", _mul_no_nan, ""),
    ("Xlogy", _xlogy, ""),
    ("Xlog1py", _xlog1py, ""),
    ("Xdivy", _xdivy, ""),
    ("Maximum", _maximum, ""),
    ("Minimum", _minimum, ""),
    ("Pow", _power, ""),
    ("SquaredDifference", _squared_difference, ""),
    ("NextAfter", np.nextafter, ""),
):
    register(Kernel(_op, constantly(_function), out=True, operator=_operator))
register(Kernel("Div", division(np.true_divide, truncated), out=True))
register(Kernel("FloorDiv", division(_floored_quotient, np.floor_divide), out=True))
register(Kernel("FloorMod", division(np.remainder, np.remainder), out=True))
register(Kernel("TruncateDiv", division(_truncated_quotient, truncated), out=True))
register(Kernel("TruncateMod", division(np.fmod, np.fmod), out=True))
register(Kernel("AddN", constantly(_add_variants), types=_VARIANT))
register(Kernel("AddN", _add_n, out=True))
register(Kernel("AccumulateNV2", _add_n, out=True))
register(Kernel("ClipByValue", constantly(_clip), out=True))
