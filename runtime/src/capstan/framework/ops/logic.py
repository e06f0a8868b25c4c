"""Rows of comparisons, logical ops, and selection by a condition."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, typesets

_EQUATED = (*typesets.COMPARABLE, *typesets.COMPLEX)
_VALUES = {"Equal": rules.of_integers(np.equal), "NotEqual": rules.of_integers(np.not_equal)}


def _select_shape(ctx: ShapeContext) -> rules.Shapes:
    condition, x, y = ctx.inputs
    known = shapes.merge(x, y)
    if condition is None or known is None or condition == ():
        return (known,)
    if len(condition) == 1 and known:
        return ((shapes.merge_dimension(condition[0], known[0]), *known[1:]),)
    return (shapes.merge(condition, known),)


def _select(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), condition = grads, op.inputs[0]
    zero = raw.ZerosLike(grad)
    return None, raw.Select(condition, grad, zero), raw.Select(condition, zero, grad)


def _select_v2(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (condition, x, y) = grads, op.inputs
    zero = raw.ZerosLike(grad)
    return (
        None,
        _like(x, raw.SelectV2(condition, grad, zero), raw),
        _like(y, raw.SelectV2(condition, zero, grad), raw),
    )


def _like(operand: Any, grad: Any, raw: Raw) -> Any:
    """Return `grad`, which has the broadcast shape, summed to the shape of `operand`."""
    target, source = operand.shape.internal, grad.shape.internal
    if target is not None and target == source and None not in target:
        return grad
    size = raw.Shape(operand)
    axes, _ = raw.BroadcastGradientArgs(size, raw.Shape(grad))
    return raw.Reshape(raw.Sum(grad, axes), size)


def _where_shape(ctx: ShapeContext) -> rules.Shapes:
    condition = ctx.inputs[0]
    indices: shapes.Shape = (None, None if condition is None else len(condition))
    return (indices,)


for _name, _types in (
    ("Equal", _EQUATED),
    ("NotEqual", _EQUATED),
    ("Less", typesets.NUMERIC),
    ("LessEqual", typesets.NUMERIC),
    ("Greater", typesets.NUMERIC),
    ("GreaterEqual", typesets.NUMERIC),
):
    define(
        OpDef(
            _name,
            ("x: T", "y: T"),
            ("z: bool",),
            attrs={} if _types is typesets.NUMERIC else {"incompatible_shape_error": True},
            shape=rules.broadcast,
            not_differentiable=True,
            types={"T": _types},
            value=_VALUES.get(_name),
        )
    )
for _name in ("LogicalAnd", "LogicalOr"):
    define(
        OpDef(
            _name,
            ("x: bool", "y: bool"),
            ("z: bool",),
            shape=rules.broadcast,
            not_differentiable=True,
        )
    )
define(
    OpDef("LogicalNot", ("x: bool",), ("y: bool",), shape=rules.unchanged, not_differentiable=True)
)
define(
    OpDef(
        "Select",
        ("condition: bool", "t: T", "e: T"),
        ("output: T",),
        shape=handles.moved(_select_shape, slice(1, 3)),
        gradient=_select,
    )
)
define(
    OpDef(
        "SelectV2",
        ("condition: bool", "t: T", "e: T"),
        ("output: T",),
        shape=rules.broadcast,
        gradient=_select_v2,
    )
)
define(
    OpDef(
        "Where",
        ("input: T",),
        ("index: int64",),
        attrs={"T": dtypes.bool_},
        shape=_where_shape,
        not_differentiable=True,
        types={"T": (*typesets.NUMBERS, dtypes.bool_)},
    )
)
