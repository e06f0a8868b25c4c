"""Rows of the ops that roll, reinterpret and search arrays, and of the cross product.

Sources: core/ops/manip_ops.cc, array_ops.cc, math_ops.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _roll_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, shift, axis = ctx.inputs
    shapes.with_rank_at_most(shift, 1)
    shapes.with_rank_at_most(axis, 1)
    shapes.merge(shift, axis)
    return (shapes.with_rank_at_least(shape, 1),)


def _roll(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    _, shift, axis = op.inputs
    return raw.Roll(grads[0], raw.Neg(shift), axis), None, None


def _cross_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = shapes.merge(*(shapes.with_rank_at_least(each, 1) for each in ctx.inputs))
    if shape is None:
        return (None,)
    return ((*shape[:-1], shapes.merge_dimension(shape[-1], 3)),)


def _cross(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    a, b = op.inputs
    return raw.Cross(b, grads[0]), raw.Cross(grads[0], a)


def _bitcast_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, before, after = ctx.inputs[0], ctx.attrs["T"].size, ctx.attrs["type"].size
    if shape is None or before == after:
        return (shape,)
    if before > after:
        return ((*shape, before // after),)
    shapes.with_rank_at_least(shape, 1)
    last, fewer = shape[-1], after // before
    if last is not None and last != fewer:
        raise ValueError(
            f"Cannot bitcast from 1 to {fewer} due to shape. {last} does not match {fewer}"
        )
    return (shape[:-1],)


def _coordinates_shape(ctx: ShapeContext) -> rules.Shapes:
    indices, (count,) = ctx.inputs[0], rules.with_rank(ctx.inputs[1], 1)
    if indices is None:
        return (None,)
    return ((count, shapes.num_elements(indices)) if indices else (count,),)


def _bound_shape(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[0], 2)
    return (rules.with_rank(ctx.inputs[1], 2),)


define(
    OpDef(
        "Roll",
        ("input: T", "shift: Tshift", "axis: Taxis"),
        ("output: T",),
        shape=_roll_shape,
        gradient=_roll,
        types={"Tshift": typesets.INDEX, "Taxis": typesets.INDEX},
        host=("shift", "axis"),
    )
)
define(
    OpDef(
        "Cross",
        ("a: T", "b: T"),
        ("product: T",),
        shape=_cross_shape,
        gradient=_cross,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "Bitcast",
        ("input: T",),
        ("output: type",),
        attrs={"type": dtypes.DType},
        shape=_bitcast_shape,
        types=dict.fromkeys(("T", "type"), (*typesets.NUMBERS, *typesets.QUANTIZED)),
    )
)
define(
    OpDef(
        "UnravelIndex",
        ("indices: Tidx", "dims: Tidx"),
        ("output: Tidx",),
        attrs={"Tidx": dtypes.int32},
        shape=_coordinates_shape,
        types={"Tidx": typesets.INDEX},
    )
)
for _name in ("LowerBound", "UpperBound"):
    define(
        OpDef(
            _name,
            ("sorted_inputs: T", "values: T"),
            ("output: out_type",),
            attrs={"out_type": dtypes.int32},
            shape=_bound_shape,
            types={"out_type": typesets.INDEX},
        )
    )
