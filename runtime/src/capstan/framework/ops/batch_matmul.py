"""Rows of batch matrix products. The matrices are in the last two axes, the batch in the others.

`BatchMatMul` requires equal batch axes. `BatchMatMulV2` broadcasts the batch axes.
"""

from typing import Any

from capstan.core import shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, unbroadcast


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
    (grad,), (x, y) = grads, op.inputs
    multiply = getattr(raw, op.type)
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


for _op, _rule, _slopes in (
    ("BatchMatMul", _shape, _gradient),
    ("BatchMatMulV2", _broadcast_shape, _broadcast_gradient),
):
    define(
        OpDef(
            _op,
            ("x: T", "y: T"),
            ("output: T",),
            attrs={"adj_x": False, "adj_y": False, "grad_x": False, "grad_y": False},
            shape=_rule,
            gradient=_slopes,
            types={"T": typesets.FIELD},
        )
    )
