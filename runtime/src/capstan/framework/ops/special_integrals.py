"""Rows of kinds of Bessel functions and of integrals without a closed form.

Source: core/ops/math_ops.cc. The gradients are those of python/ops/math_grad.py.
"""

import math
from typing import Any

from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, define
from capstan.framework.ops import rules, typesets


def _times(grads: Gradients, raw: Raw, slope: Any) -> Gradients:
    return (raw.Mul(grads[0], slope),)


def _or_half_at_zero(x: Any, slope: Any, raw: Raw) -> Any:
    half = raw.Mul(raw.OnesLike(x), 0.5)
    return raw.SelectV2(raw.Equal(x, raw.ZerosLike(x)), half, slope)


def _j0(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Neg(raw.BesselJ1(op.inputs[0])))


def _j1(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    slope = raw.Sub(raw.BesselJ0(x), raw.RealDiv(y, x))
    return _times(grads, raw, _or_half_at_zero(x, slope, raw))


def _y0(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Neg(raw.BesselY1(op.inputs[0])))


def _y1(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    return _times(grads, raw, raw.Sub(raw.BesselY0(x), raw.RealDiv(y, x)))


def _k0(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Neg(raw.BesselK1(op.inputs[0])))


def _k0e(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Sub(op.outputs[0], raw.BesselK1e(op.inputs[0])))


def _k1(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    return _times(grads, raw, raw.Sub(raw.Neg(raw.BesselK0(x)), raw.RealDiv(y, x)))


def _k1e(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    own = raw.Mul(y, raw.Sub(1, raw.Reciprocal(x)))
    return _times(grads, raw, raw.Sub(own, raw.BesselK0e(x)))


def _dawson(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    product = raw.Mul(raw.Mul(op.inputs[0], op.outputs[0]), 2)
    return _times(grads, raw, raw.Sub(1, product))


def _exponential_integral(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x = op.inputs[0]
    return _times(grads, raw, raw.RealDiv(raw.Exp(x), x))


def _fresnel_cosine(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Cos(_angle(op, raw)))


def _fresnel_sine(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _times(grads, raw, raw.Sin(_angle(op, raw)))


def _angle(op: Op, raw: Raw) -> Any:
    return raw.Mul(raw.Square(op.inputs[0]), math.pi / 2)


def _spence(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x = op.inputs[0]
    slope = raw.RealDiv(raw.Log(x), raw.Sub(1, x))
    ones = raw.OnesLike(x)
    return _times(grads, raw, raw.SelectV2(raw.Equal(x, ones), raw.Neg(ones), slope))


_GRADIENTS: dict[str, GradientRule] = {
    "BesselJ0": _j0, "BesselJ1": _j1, "BesselK0": _k0, "BesselK0e": _k0e, "BesselK1": _k1,
    "BesselK1e": _k1e, "BesselY0": _y0, "BesselY1": _y1, "Dawsn": _dawson,
    "Expint": _exponential_integral, "FresnelCos": _fresnel_cosine, "FresnelSin": _fresnel_sine,
    "Spence": _spence,
}  # fmt: skip
for _name, _gradient in _GRADIENTS.items():
    define(
        OpDef(
            _name,
            ("x: T",),
            ("y: T",),
            shape=rules.unchanged,
            gradient=_gradient,
            types={"T": typesets.FLOATING},
        )
    )
