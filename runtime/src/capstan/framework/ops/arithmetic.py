"""Rows of elementwise arithmetic: two operands with broadcasting, sums of many, and bounds."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import (
    GradientRule,
    Gradients,
    Op,
    OpDef,
    Raw,
    ShapeContext,
    Tensor,
    define,
)
from capstan.framework.ops import rules, typesets
from capstan.framework.ops.unbroadcast import summed

_INPUTS = ("x: T", "y: T")
_OUTPUTS = ("z: T",)


def _binary(
    name: str,
    gradient: GradientRule | None,
    types: tuple[dtypes.DType, ...] = typesets.NUMERIC,
    value: facts.ValueRule | None = None,
) -> None:
    define(
        OpDef(
            name,
            _INPUTS,
            _OUTPUTS,
            shape=rules.broadcast,
            gradient=gradient,
            not_differentiable=gradient is None,
            types={"T": types},
            value=value,
        )
    )


def _add(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return summed(op, (grad, grad), raw)


def _sub(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return summed(op, (grad, raw.Neg(grad)), raw)


def _mul(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, rules.conjugates(op, raw)
    return summed(op, (raw.Mul(grad, y), raw.Mul(x, grad)), raw)


def _division(name: str) -> GradientRule:
    """Return the gradient rule d(x/y) = dx/y - dy (x/y)/y. The rule divides with the op `name`."""

    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        (grad,), (x, y) = grads, rules.conjugates(op, raw)
        divide = getattr(raw, name)
        by_y = raw.Mul(grad, divide(divide(raw.Neg(x), y), y))
        return summed(op, (divide(grad, y), by_y), raw)

    return gradient


def _floor_mod(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    return summed(op, (grad, raw.Mul(grad, raw.Neg(raw.FloorDiv(x, y)))), raw)


def _truncate_mod(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    return summed(op, (grad, raw.Mul(grad, raw.Neg(raw.TruncateDiv(x, y)))), raw)


def _mul_no_nan(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    return summed(op, (raw.MulNoNan(grad, y), raw.MulNoNan(x, grad)), raw)


def _xlogy(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    by_x = raw.Xlogy(_not_zero(x, raw), y)
    return summed(op, (raw.Mul(by_x, grad), raw.Mul(raw.Xdivy(x, y), grad)), raw)


def _xlog1py(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    by_x = raw.Xlog1py(_not_zero(x, raw), y)
    by_y = raw.Xdivy(x, raw.Add(y, 1))
    return summed(op, (raw.Mul(by_x, grad), raw.Mul(by_y, grad)), raw)


def _xdivy(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    by_x = raw.Xdivy(_not_zero(x, raw), y)
    by_y = raw.Xdivy(raw.Neg(x), raw.Square(y))
    return summed(op, (raw.Mul(by_x, grad), raw.Mul(by_y, grad)), raw)


def _not_zero(x: Tensor, raw: Raw) -> Tensor:
    chosen: Tensor = raw.Cast(raw.NotEqual(x, 0), DstT=x.dtype.base_dtype)
    return chosen


def _chosen_by(comparison: str) -> GradientRule:
    """Return the gradient rule of an op that returns one of its operands x and y.

    The rule passes the gradient to x where `comparison` of x and y holds, else to y.
    """

    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        (grad,), (x, y) = grads, op.inputs
        is_x = getattr(raw, comparison)(x, y)
        zero = raw.ZerosLike(grad)
        return summed(op, (raw.SelectV2(is_x, grad, zero), raw.SelectV2(is_x, zero, grad)), raw)

    return gradient


def _pow(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, rules.conjugates(op, raw)
    z = rules.conjugate(op.outputs[0], raw)
    by_x = raw.Mul(raw.Mul(grad, y), raw.Pow(x, raw.Sub(y, 1)))
    # For a real x <= 0 the power is not differentiable by y. The gradient is 0 there, as in
    # TensorFlow. A complex x has a logarithm unless it is 0.
    one, zero = raw.OnesLike(x), raw.ZerosLike(x)
    has_log = raw.NotEqual(x, 0) if x.dtype.is_complex else raw.Greater(x, 0)
    log_x = raw.SelectV2(has_log, raw.Log(raw.SelectV2(has_log, x, one)), zero)
    return summed(op, (by_x, raw.Mul(raw.Mul(grad, z), log_x)), raw)


def _squared_difference(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, y) = grads, op.inputs
    by_x = raw.Mul(raw.Mul(grad, 2), raw.Sub(x, y))
    return summed(op, (by_x, raw.Neg(by_x)), raw)


def _accumulated(ctx: ShapeContext) -> rules.Shapes:
    (known,) = rules.merged(ctx)
    return (shapes.merge(known, ctx.attrs["shape"].internal),)


def _clip(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, *bounds) = grads, op.inputs
    zeros = raw.ZerosLike(grad)
    is_below, is_above = raw.Less(x, bounds[0]), raw.Greater(x, bounds[1])
    slopes: list[Any] = [raw.Select(raw.LogicalOr(is_below, is_above), zeros, grad)]
    for bound, is_bound in zip(bounds, (is_below, is_above), strict=True):
        size = raw.Shape(bound)
        _, axes = raw.BroadcastGradientArgs(raw.Shape(x), size)
        slopes.append(raw.Reshape(raw.Sum(raw.Select(is_bound, grad, zeros), axes), size))
    return slopes


def _add_n(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return list(grads) * len(op.inputs)


_binary(
    "Add",
    _add,
    (*typesets.ADDED, *typesets.COMPLEX, dtypes.string),
    value=rules.of_integers(np.add),
)
_binary("AddV2", _add, typesets.NUMBERS, value=rules.of_integers(np.add))
_binary("Sub", _sub, typesets.NUMBERS, value=rules.of_integers(np.subtract))
_binary("Mul", _mul, typesets.NUMBERS, value=rules.of_integers(np.multiply))
_binary("RealDiv", _division("RealDiv"), typesets.ANALYTIC)
_binary("Div", _division("Div"), typesets.NUMBERS)
_binary("DivNoNan", _division("DivNoNan"), typesets.ANALYTIC)
_binary("FloorDiv", None, value=rules.of_integers(np.floor_divide))
_binary("FloorMod", _floor_mod, value=rules.of_integers(np.mod))
_binary("TruncateDiv", None)
_binary("TruncateMod", _truncate_mod, typesets.SIGNED)
_binary("MulNoNan", _mul_no_nan, typesets.ANALYTIC)
_binary("Xlogy", _xlogy, typesets.ANALYTIC)
_binary("Xlog1py", _xlog1py, typesets.ANALYTIC)
_binary("Xdivy", _xdivy, typesets.ANALYTIC)
_binary("Maximum", _chosen_by("GreaterEqual"), value=rules.of_integers(np.maximum))
_binary("Minimum", _chosen_by("LessEqual"), value=rules.of_integers(np.minimum))
_binary("Pow", _pow, (*typesets.FIELD, dtypes.int8, dtypes.int16))
_binary("SquaredDifference", _squared_difference, typesets.FIELD)
define(
    OpDef(
        "AddN",
        ("inputs: N * T",),
        ("sum: T",),
        shape=rules.merged,
        gradient=_add_n,
        types={"T": (*typesets.NUMBERS, dtypes.variant)},
    )
)
define(
    OpDef(
        "AccumulateNV2",
        ("inputs: N * T",),
        ("sum: T",),
        attrs={"shape": tensor_shape.TensorShape},
        minima={"N": 1},
        shape=_accumulated,
        gradient=_add_n,
        types={"T": typesets.NUMBERS},
    )
)
define(
    OpDef(
        "ClipByValue",
        ("t: T", "clip_value_min: T", "clip_value_max: T"),
        ("output: T",),
        shape=rules.unchanged,
        gradient=_clip,
        types={"T": (*typesets.ADDED, dtypes.uint16)},
    )
)
