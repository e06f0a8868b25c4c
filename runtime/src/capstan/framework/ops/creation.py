"""Rows of ops that make tensors from shapes and bounds."""

import math

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _fill(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return None, raw.Sum(grad, raw.Range(0, raw.Rank(grad), 1))


def _range_shape(ctx: ShapeContext) -> rules.Shapes:
    values = [ctx.constant(index) for index in range(3)]
    if any(value is None for value in values):
        return ((None,),)
    start, limit, delta = (value.item() for value in values if value is not None)
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    return ((math.ceil((limit - start) / delta),),)


def _fill_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    if values is None or np.prod(values[0], dtype=np.float64) > rules.MAX_ELEMENTS:
        return None
    dims, value = values
    return np.full(tuple(dims), value, value.dtype)


def _filled_value(number: int) -> facts.ValueRule:
    """Return the value rule of an op that fills a shape with a number. It fills integers only."""

    def value(ctx: facts.ValueContext) -> Array | None:
        shape, dtype = ctx.input_shapes[0], ctx.attrs["T"].base_dtype
        count = shapes.num_elements(shape)
        if shape is None or count is None or count > rules.MAX_ELEMENTS or not dtype.is_integer:
            return None
        return np.full(shape, number, dtype.as_numpy_dtype)

    return value


def _range_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    if values is None:
        return None
    start, limit, delta = values
    if delta == 0 or abs((limit - start) / delta) > rules.MAX_ELEMENTS:
        return None
    known: Array = np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)
    return known


def _fill_shape(ctx: ShapeContext) -> rules.Shapes:
    """Require sizes of at least 0, and a scalar."""
    sizes = ctx.constant(0)
    shapes.with_rank(ctx.inputs[1], 0)
    made = rules.shape_in(ctx, 0)
    if sizes is not None and (sizes < 0).any():
        raise ValueError("Fill dimensions must be >= 0")
    return (made,)


define(
    OpDef(
        "Fill",
        ("dims: index_type", "value: T"),
        ("output: T",),
        attrs={"index_type": dtypes.int32},
        shape=_fill_shape,
        gradient=_fill,
        types={"index_type": typesets.INDEX},
        value=_fill_value,
        host=("dims",),
    )
)
for _name in ("ZerosLike", "OnesLike"):
    define(
        OpDef(
            _name,
            ("x: T",),
            ("y: T",),
            shape=rules.unchanged,
            not_differentiable=True,
            types={} if _name == "ZerosLike" else {"T": (*typesets.NUMBERS, dtypes.bool_)},
            value=_filled_value(1 if _name == "OnesLike" else 0),
        )
    )
define(
    OpDef(
        "Range",
        ("start: Tidx", "limit: Tidx", "delta: Tidx"),
        ("output: Tidx",),
        attrs={"Tidx": dtypes.int32},
        shape=_range_shape,
        not_differentiable=True,
        types={"Tidx": (dtypes.bfloat16, *typesets.WIDE, *typesets.INDEX)},
        value=_range_value,
        host=("start", "limit", "delta", "output"),
    )
)
