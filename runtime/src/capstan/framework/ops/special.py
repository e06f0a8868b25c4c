"""Rows of the inverse and hyperbolic functions, and of the error, gamma and zeta functions."""

import math

from capstan.core import dtypes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, define
from capstan.framework.ops import rules, typesets, unbroadcast


def _input(op: Op, raw: Raw) -> object:
    return rules.conjugate(op.inputs[0], raw)


def _acos(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Neg(raw.RealDiv(grads[0], _root(op, raw, -1, 1))),)


def _asin(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], _root(op, raw, -1, 1)),)


def _asinh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], _root(op, raw, 1, 1)),)


def _acosh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    if op.inputs[0].dtype.is_complex:
        # The root of x * x - 1 is on the other branch for some x.
        return (raw.RealDiv(grads[0], raw.Sinh(raw.Conj(op.outputs[0]))),)
    return (raw.RealDiv(grads[0], _root(op, raw, 1, -1)),)


def _root(op: Op, raw: Raw, factor: int, constant: int) -> object:
    """Return the square root of factor * x * x + constant."""
    square = raw.Square(_input(op, raw))
    return raw.Sqrt(raw.Add(square if factor > 0 else raw.Neg(square), constant))


def _atan(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], raw.Add(raw.Square(_input(op, raw)), 1)),)


def _atanh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], raw.Sub(1, raw.Square(_input(op, raw)))),)


def _cosh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Sinh(_input(op, raw))),)


def _sinh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Cosh(_input(op, raw))),)


def _tan(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], raw.Square(raw.Cos(_input(op, raw)))),)


def _expm1(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Exp(_input(op, raw))),)


def _erf(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], _bell(op, raw, 2 / math.sqrt(math.pi))),)


def _erfc(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], _bell(op, raw, -2 / math.sqrt(math.pi))),)


def _bell(op: Op, raw: Raw, factor: float) -> object:
    """Return factor * exp(-x * x)."""
    return raw.Mul(raw.Exp(raw.Neg(raw.Square(op.inputs[0]))), factor)


def _lgamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Digamma(op.inputs[0])),)


def _digamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Polygamma(1, op.inputs[0])),)


def _polygamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # As in TensorFlow, neither this function nor `_zeta` has a gradient of its first operand.
    order, x = op.inputs
    slope = raw.Polygamma(raw.Add(order, 1), x)
    return unbroadcast.summed(op, [None, raw.Mul(slope, grads[0])], raw)


def _zeta(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, q = op.inputs
    slope = raw.Mul(raw.Neg(x), raw.Zeta(raw.Add(x, 1), q))
    return unbroadcast.summed(op, [None, raw.Mul(slope, grads[0])], raw)


def _atan2(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    y, x = op.inputs
    scaled = raw.RealDiv(grads[0], raw.Add(raw.Square(x), raw.Square(y)))
    return unbroadcast.summed(op, [raw.Mul(x, scaled), raw.Mul(raw.Neg(y), scaled)], raw)


def _bessel_i0e(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    return (raw.Mul(grads[0], raw.Sub(raw.BesselI1e(x), raw.Mul(raw.Sign(x), y))),)


def _bessel_i1e(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    slope = raw.Sub(raw.BesselI0e(x), raw.Mul(y, raw.Add(raw.Sign(x), raw.Reciprocal(x))))
    half = raw.Mul(raw.OnesLike(x), 0.5)
    return (raw.Mul(grads[0], raw.SelectV2(raw.Equal(x, raw.ZerosLike(x)), half, slope)),)


def _next_after(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return unbroadcast.summed(op, [grads[0], raw.ZerosLike(grads[0])], raw)


_GRADIENTS: dict[str, GradientRule | None] = {
    "Acos": _acos, "Acosh": _acosh, "Asin": _asin, "Asinh": _asinh, "Atan": _atan,
    "Atanh": _atanh, "BesselI0e": _bessel_i0e, "BesselI1e": _bessel_i1e,
    "Cosh": _cosh, "Digamma": _digamma, "Erf": _erf, "Erfc": _erfc,
    "Expm1": _expm1, "Lgamma": _lgamma, "Rint": None, "Sinh": _sinh, "Tan": _tan,
}  # fmt: skip

_ANALYTIC = frozenset(
    {
        "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Expm1", "Sinh", "Tan",
    }
)  # fmt: skip
"""The functions that take complex numbers too."""

for _name, _gradient in _GRADIENTS.items():
    define(
        OpDef(
            _name,
            ("x: T",),
            ("y: T",),
            shape=rules.unchanged,
            gradient=_gradient,
            not_differentiable=_name == "Rint",
            types={"T": typesets.ANALYTIC if _name in _ANALYTIC else typesets.FLOATING},
        )
    )

define(
    OpDef(
        "Atan2",
        ("y: T", "x: T"),
        ("z: T",),
        shape=rules.broadcast,
        gradient=_atan2,
        types={"T": typesets.FLOATING},
    )
)
for _name, _first, _second, _rule in (
    ("Polygamma", "a", "x", _polygamma),
    ("Zeta", "x", "q", _zeta),
):
    define(
        OpDef(
            _name,
            (f"{_first}: T", f"{_second}: T"),
            ("z: T",),
            shape=rules.broadcast,
            gradient=_rule,
            types={"T": (dtypes.float32, dtypes.float64)},
        )
    )
define(
    OpDef(
        "NextAfter",
        ("x1: T", "x2: T"),
        ("output: T",),
        attrs={"T": dtypes.float32},
        shape=rules.broadcast,
        gradient=_next_after,
        types={"T": (dtypes.float64, dtypes.float32)},
    )
)
