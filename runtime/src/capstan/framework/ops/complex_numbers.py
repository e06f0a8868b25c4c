"""Rows of the ops that make complex numbers and take them apart (core/ops/math_ops.cc).

The gradient with respect to z = a + ib has the gradient of a as its real part, and that of b as
its imaginary part, as in TensorFlow.
"""

from typing import Any, Final

from capstan.core import dtypes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, define
from capstan.framework.ops import rules, typesets
from capstan.framework.ops.unbroadcast import summed


def _parts(z: Any, raw: Raw) -> tuple[Any, Any]:
    kind = z.dtype.real_dtype
    return raw.Real(z, Tout=kind), raw.Imag(z, Tout=kind)


def _joined(a: Any, b: Any, op: Op, raw: Raw) -> Gradients:
    return (raw.Complex(a, b, Tout=op.inputs[0].dtype),)


def _complex(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return summed(op, _parts(grads[0], raw), raw)


def _real(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _joined(grads[0], 0, op, raw)


def _imag(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _joined(0, grads[0], op, raw)


def _conj(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Conj(grads[0]),)


def _angle(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    a, b = _parts(op.inputs[0], raw)
    slope = raw.RealDiv(grads[0], raw.Add(raw.Square(a), raw.Square(b)))
    return _joined(raw.Mul(raw.Neg(b), slope), raw.Mul(a, slope), op, raw)


def _abs(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    z = op.inputs[0]
    grad, length = (raw.Complex(each, 0, Tout=z.dtype) for each in (grads[0], op.outputs[0]))
    return (raw.DivNoNan(raw.Mul(grad, z), length),)


define(
    OpDef(
        "Complex",
        ("real: T", "imag: T"),
        ("out: Tout",),
        attrs={"T": dtypes.float32, "Tout": dtypes.complex64},
        shape=rules.broadcast,
        gradient=_complex,
        types={"T": typesets.WIDE, "Tout": typesets.COMPLEX},
    )
)
define(
    OpDef(
        "Conj",
        ("input: T",),
        ("output: T",),
        attrs={"T": dtypes.complex64},
        shape=rules.unchanged,
        gradient=_conj,
        types={"T": typesets.COMPLEX},
    )
)
_RULES: Final[tuple[tuple[str, GradientRule], ...]] = (
    ("Angle", _angle),
    ("Imag", _imag),
    ("Real", _real),
)
for _name, _gradient in (("ComplexAbs", _abs), *_RULES):
    _is_part = _name != "ComplexAbs"
    define(
        OpDef(
            _name,
            ("input: T" if _is_part else "x: T",),
            ("output: Tout" if _is_part else "y: Tout",),
            attrs={"T": dtypes.complex64, "Tout": dtypes.float32},
            shape=rules.unchanged,
            gradient=_gradient,
            types={"T": typesets.COMPLEX, "Tout": typesets.WIDE},
        )
    )
