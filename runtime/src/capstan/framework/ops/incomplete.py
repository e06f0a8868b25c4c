"""Rows of the incomplete gamma and beta functions (core/ops/math_ops.cc)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, unbroadcast

_TYPES = {"T": (dtypes.float32, dtypes.float64)}


def _igamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    a, x = op.inputs
    exponent = raw.Sub(raw.Mul(raw.Sub(a, 1), raw.Log(x)), raw.Add(x, raw.Lgamma(a)))
    slopes = raw.IgammaGradA(a, x), raw.Exp(exponent)
    return unbroadcast.summed(op, [raw.Mul(slope, grads[0]) for slope in slopes], raw)


def _igammac(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _igamma(op, [raw.Neg(grads[0])], raw)


def _betainc(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # As in TensorFlow, only `x` has a gradient.
    a, b, x = op.inputs
    log_beta = raw.Sub(raw.Add(raw.Lgamma(a), raw.Lgamma(b)), raw.Lgamma(raw.Add(a, b)))
    # The power 0 of 0 is 1, but the logarithm of 0 is infinite.
    is_one, is_zero = raw.Equal(x, raw.OnesLike(x)), raw.Equal(x, raw.ZerosLike(x))
    below = raw.SelectV2(raw.LogicalAnd(is_one, _is_one(b, raw)), raw.ZerosLike(x), x)
    above = raw.SelectV2(raw.LogicalAnd(is_zero, _is_one(a, raw)), raw.OnesLike(x), x)
    left = raw.Mul(raw.Sub(b, 1), raw.Log1p(raw.Neg(below)))
    right = raw.Mul(raw.Sub(a, 1), raw.Log(above))
    slope = raw.Mul(raw.Exp(raw.Sub(raw.Add(left, right), log_beta)), grads[0])
    axes, _ = raw.BroadcastGradientArgs(raw.Shape(x), raw.Shape(slope))
    return None, None, raw.Reshape(raw.Sum(slope, axes), raw.Shape(x))


def _is_one(parameter: Any, raw: Raw) -> Any:
    return raw.Equal(parameter, raw.OnesLike(parameter))


def _betainc_shape(ctx: ShapeContext) -> rules.Shapes:
    """Give the output the shape of the inputs that are not scalars. They must be equal."""
    if None in ctx.inputs:
        return (next((shape for shape in ctx.inputs if shape), None),)
    known: shapes.Shape = ()
    for shape in ctx.inputs:
        if shape:
            known = shapes.merge(known, shape) if known else shape
    return (known,)


for _name, _rule in (("Igamma", _igamma), ("Igammac", _igammac), ("IgammaGradA", None)):
    define(
        OpDef(
            _name,
            ("a: T", "x: T"),
            ("z: T",),
            shape=rules.broadcast,
            gradient=_rule,
            types=_TYPES,
        )
    )
define(
    OpDef(
        "RandomGammaGrad",
        ("alpha: T", "sample: T"),
        ("output: T",),
        shape=rules.broadcast,
        types=_TYPES,
    )
)
define(
    OpDef(
        "Betainc",
        ("a: T", "b: T", "x: T"),
        ("z: T",),
        shape=_betainc_shape,
        gradient=_betainc,
        types=_TYPES,
    )
)
