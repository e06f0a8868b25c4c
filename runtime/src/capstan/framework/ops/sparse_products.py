"""The row of the product of two matrices with many zeros (core/ops/math_ops.cc,
python/ops/math_grad.py).
"""

from typing import Any

from capstan.core import dtypes
from capstan.framework import opdef
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules

_TYPES = (dtypes.float32, dtypes.bfloat16)


def _shape(ctx: ShapeContext) -> rules.Shapes:
    shape = opdef.lookup("MatMul").shape
    assert shape is not None
    return shape(ctx)


def _gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradients of the product of dense matrices, which are sparse nowhere."""
    (grad,), (a, b) = grads, op.inputs
    turned_a, turned_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")

    def product(x: Any, y: Any, dtype: Any, *turned: bool) -> Any:
        found = raw.SparseMatMul(x, y, transpose_a=turned[0], transpose_b=turned[1])
        return found if dtype is dtypes.float32 else raw.Cast(found, DstT=dtype)

    by_a = (
        product(b, grad, a.dtype, turned_b, True)
        if turned_a
        else product(grad, b, a.dtype, False, not turned_b)
    )
    by_b = (
        product(grad, a, b.dtype, True, turned_a)
        if turned_b
        else product(a, grad, b.dtype, not turned_a, False)
    )
    return by_a, by_b


define(
    OpDef(
        "SparseMatMul",
        ("a: Ta", "b: Tb"),
        ("product: float32",),
        attrs={
            "transpose_a": False,
            "transpose_b": False,
            "a_is_sparse": False,
            "b_is_sparse": False,
        },
        shape=_shape,
        gradient=_gradient,
        types={"Ta": _TYPES, "Tb": _TYPES},
    )
)
