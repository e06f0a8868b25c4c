"""Rows of inverses of distribution functions, and of Bessel functions (core/ops/math_ops.cc)."""

import math

from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, define
from capstan.framework.ops import rules, typesets


def _erfinv(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    slope = raw.Mul(raw.Exp(raw.Square(op.outputs[0])), math.sqrt(math.pi) / 2)
    return (raw.Mul(grads[0], slope),)


def _ndtri(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    power = raw.Mul(raw.Square(op.outputs[0]), 0.5)
    return (raw.Mul(grads[0], raw.Mul(raw.Exp(power), math.sqrt(2 * math.pi))),)


def _bessel_i0(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.BesselI1(op.inputs[0])),)


def _bessel_i1(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    slope = raw.Sub(raw.BesselI0(x), raw.RealDiv(y, x))
    half = raw.Mul(raw.OnesLike(x), 0.5)
    return (raw.Mul(grads[0], raw.SelectV2(raw.Equal(x, raw.ZerosLike(x)), half, slope)),)


_GRADIENTS: dict[str, GradientRule] = {
    "Erfinv": _erfinv, "Ndtri": _ndtri, "BesselI0": _bessel_i0, "BesselI1": _bessel_i1,
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
