"""Rows of batch matrix products. The matrices are in the last two axes, the batch in the others.

`BatchMatMul` requires equal batch axes. `BatchMatMulV2` and `BatchMatMulV3` broadcast them. The
operands of `BatchMatMulV3` may have types of their own, and so may its output.
"""

from collections.abc import Callable
from typing import Any, Final

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, unbroadcast

_MIXED: Final = (*typesets.FIELD, dtypes.int8, dtypes.int16, dtypes.uint8)


def _shape(ctx: ShapeContext) -> rules.Shapes:
    return _product(ctx, shapes.merge)


def _broadcast_shape(ctx: ShapeContext) -> rules.Shapes:
    return _product(ctx, shapes.broadcast)


def _product(ctx: ShapeContext, join: Any) -> rules.Shapes:
    a, b = (shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs)
    if a is None or b is None:
        return (None,)
    rows, inner = a[-2:][::-1] if ctx.attrs["adj_x"] else a[-2:]
    other, columns = b[-2:][::-1] if ctx.attrs["adj_y"] else b[-2:]
    shapes.merge_dimension(inner, other)
    return ((*join(a[:-2], b[:-2]), rows, columns),)


def _gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _slopes(op, op.inputs[0], op.inputs[1], grads[0], getattr(raw, op.type))


def _slopes(op: Op, x: Any, y: Any, grad: Any, multiply: Callable[..., Any]) -> Gradients:
    match op.get_attr("adj_x"), op.get_attr("adj_y"):
        case False, False:
            return multiply(grad, y, adj_y=True), multiply(x, grad, adj_x=True)
        case False, True:
            return multiply(grad, y), multiply(grad, x, adj_x=True)
        case True, False:
            return multiply(y, grad, adj_y=True), multiply(x, grad)
        case _:
            return (
                multiply(y, grad, adj_x=True, adj_y=True),
                multiply(grad, x, adj_x=True, adj_y=True),
            )


def _broadcast_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return unbroadcast.batches(op.inputs, _gradient(op, grads, raw), raw)


def _mixed_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return gradients of the types of the operands. The products have the type of the output."""
    x, y = (_as(tensor, op.get_attr("Tout"), raw) for tensor in op.inputs)
    slopes = _slopes(op, x, y, grads[0], raw.BatchMatMulV2)
    typed = [_as(slope, tensor.dtype, raw) for slope, tensor in zip(slopes, op.inputs, strict=True)]
    return unbroadcast.batches(op.inputs, typed, raw)


def _as(tensor: Any, kind: dtypes.DType, raw: Raw) -> Any:
    return tensor if tensor.dtype == kind else raw.Cast(tensor, DstT=kind)


for _op, _rule, _of_operands, _types in (
    ("BatchMatMul", _shape, _gradient, typesets.FIELD),
    ("BatchMatMulV2", _broadcast_shape, _broadcast_gradient, (*typesets.FIELD, dtypes.int16)),
):
    define(
        OpDef(
            _op,
            ("x: T", "y: T"),
            ("output: T",),
            attrs={"adj_x": False, "adj_y": False, "grad_x": False, "grad_y": False},
            shape=_rule,
            gradient=_of_operands,
            types={"T": _types},
        )
    )
define(
    OpDef(
        "BatchMatMulV3",
        ("x: Ta", "y: Tb"),
        ("output: Tout",),
        attrs={
            "Tout": dtypes.DType,
            "adj_x": False,
            "adj_y": False,
            "grad_x": False,
            "grad_y": False,
        },
        shape=_broadcast_shape,
        gradient=_mixed_gradient,
        types={"Ta": _MIXED, "Tb": _MIXED, "Tout": typesets.FIELD},
    )
)
