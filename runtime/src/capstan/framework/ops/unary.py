"""Rows of elementwise functions of one operand, and of Cast."""

from typing import Any, Final

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, define
from capstan.framework.ops import rules, typesets


def _unary(
    name: str,
    gradient: GradientRule | None,
    types: tuple[dtypes.DType, ...] = typesets.FLOATING,
    *,
    is_flat: bool = False,
) -> None:
    define(
        OpDef(
            name,
            ("x: T",),
            ("y: T",),
            shape=rules.unchanged,
            gradient=gradient,
            not_differentiable=is_flat,
            types={"T": types},
        )
    )


def _input(op: Op, raw: Raw) -> Any:
    return rules.conjugate(op.inputs[0], raw)


def _output(op: Op, raw: Raw) -> Any:
    return rules.conjugate(op.outputs[0], raw)


def _neg(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Neg(grads[0]),)


def _abs(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Sign(op.inputs[0])),)


def _zero(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.ZerosLike(op.inputs[0]),)


def _square(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Mul(_input(op, raw), 2)),)


def _sqrt(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(raw.Mul(grads[0], 0.5), _output(op, raw)),)


def _rsqrt(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    y = _output(op, raw)
    return (raw.Mul(raw.Mul(grads[0], -0.5), raw.Mul(raw.Square(y), y)),)


def _exp(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], _output(op, raw)),)


def _log(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], _input(op, raw)),)


def _log1p(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.RealDiv(grads[0], raw.Add(_input(op, raw), 1)),)


def _tanh(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.TanhGrad(_output(op, raw), grads[0]),)


def _cos(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(raw.Neg(grads[0]), raw.Sin(_input(op, raw))),)


def _sin(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(grads[0], raw.Cos(_input(op, raw))),)


def _sigmoid(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.SigmoidGrad(_output(op, raw), grads[0]),)


def _reciprocal(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(raw.Neg(grads[0]), raw.Square(_output(op, raw))),)


def _tanh_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (y, dy) = grads, rules.conjugates(op, raw)
    return raw.Mul(raw.Mul(grad, -2), raw.Mul(dy, y)), raw.TanhGrad(y, grad)


def _sigmoid_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (y, dy) = grads, rules.conjugates(op, raw)
    slope = raw.Sub(1, raw.Mul(y, 2))
    return raw.Mul(raw.Mul(grad, dy), slope), raw.SigmoidGrad(y, grad)


def _sqrt_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    slope = raw.RealDiv(grads[0], op.inputs[0])
    by_y = raw.Mul(raw.Neg(rules.conjugate(slope, raw)), op.outputs[0])
    return by_y, raw.Mul(slope, 0.5)


def _rsqrt_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), dy, y = grads, op.inputs[1], _input(op, raw)
    turned = rules.conjugate(grad, raw)
    return raw.Mul(raw.Mul(raw.Mul(turned, -1.5), dy), raw.Square(y)), raw.RsqrtGrad(y, grad)


def _reciprocal_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), dy, y = grads, op.inputs[1], _input(op, raw)
    turned = rules.conjugate(grad, raw)
    return raw.Mul(raw.Mul(raw.Mul(turned, -2), dy), y), raw.ReciprocalGrad(y, grad)


def _cast(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    source, target = op.get_attr("SrcT"), op.get_attr("DstT")
    if not all(each.is_floating or each.is_complex for each in (source, target)):
        return (None,)
    return (raw.Cast(grads[0], DstT=source),)


CASTABLE: Final = frozenset((*typesets.NUMBERS, dtypes.bool_))
"""The types between which `Cast` converts, beside the quantized types, which it treats as the types
of their levels. The op takes all types, and then fails in a step.
"""


def _cast_value(ctx: facts.ValueContext) -> Array | None:
    value, target = ctx.value_of(0), ctx.attrs["DstT"]
    if value is None or not CASTABLE.issuperset((ctx.attrs["SrcT"], target)):
        return None
    value = np.asarray(value)
    if value.dtype.kind == "c" and not target.is_complex:
        value = value.real
    return value.astype(target.as_numpy_dtype)


def _cast_sizes(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    sizes, target = ctx.sizes_of(0), ctx.attrs["DstT"].as_numpy_dtype
    if sizes is None:
        return None
    # As in the kernel, a number that needs more bits loses them.
    return tuple(None if size is None else int(np.asarray(size).astype(target)) for size in sizes)


_SMALL: Final = (dtypes.int8, dtypes.int16)
_UNSIGNED: Final = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)

_unary("Neg", _neg, (*typesets.FIELD, *_SMALL))
_unary("Abs", _abs, (*typesets.SIGNED, dtypes.int8, dtypes.int16))
_unary("Sign", _zero, (*typesets.FIELD, *_SMALL))
_unary("Square", _square, (*typesets.FIELD, *_SMALL, *_UNSIGNED))
_unary("Sqrt", _sqrt, typesets.ANALYTIC)
_unary("Rsqrt", _rsqrt, typesets.ANALYTIC)
_unary("Exp", _exp, typesets.ANALYTIC)
_unary("Log", _log, typesets.ANALYTIC)
_unary("Log1p", _log1p, typesets.ANALYTIC)
_unary("Tanh", _tanh, typesets.ANALYTIC)
_unary("Cos", _cos, typesets.ANALYTIC)
_unary("Sin", _sin, typesets.ANALYTIC)
_unary("Sigmoid", _sigmoid, typesets.ANALYTIC)
_unary("Reciprocal", _reciprocal, (*typesets.FLOATING, dtypes.int64, *typesets.COMPLEX))
_unary("Inv", _reciprocal, (*typesets.FLOATING, dtypes.int64, *typesets.COMPLEX))
_unary("Floor", None, is_flat=True)
_unary("Ceil", None, is_flat=True)
_unary("Round", None, typesets.SIGNED, is_flat=True)

for _name, _gradient in (
    ("InvGrad", _reciprocal_grad),
    ("ReciprocalGrad", _reciprocal_grad),
    ("RsqrtGrad", _rsqrt_grad),
    ("SigmoidGrad", _sigmoid_grad),
    ("SqrtGrad", _sqrt_grad),
    ("TanhGrad", _tanh_grad),
):
    define(
        OpDef(
            _name,
            ("y: T", "dy: T"),
            ("z: T",),
            shape=rules.merged,
            gradient=_gradient,
            types={"T": typesets.ANALYTIC},
        )
    )

for _name in ("IsFinite", "IsInf", "IsNan"):
    define(
        OpDef(
            _name,
            ("x: T",),
            ("y: bool",),
            shape=rules.unchanged,
            not_differentiable=True,
            types={"T": typesets.FLOATING},
        )
    )

define(
    OpDef(
        "Cast",
        ("x: SrcT",),
        ("y: DstT",),
        attrs={"DstT": dtypes.DType, "Truncate": False},
        shape=rules.unchanged,
        gradient=_cast,
        role=facts.Role.CAST,
        value=_cast_value,
        sizes=_cast_sizes,
    )
)
