"""The shapes of tensors of handles, for the ops that move the elements of tensors of any dtype.

The static shape of the handle of a variable is the shape of the variable
(`framework.ops.resource`). TensorFlow takes each handle for a scalar, so an op such as `Pack` makes
a vector of handles. The shape of this vector is a `shapes.OfHandles` here, which no rule takes for
the shape of a variable.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts, opdef

ALL: Final = slice(None)
FIRST: Final = slice(1)


def moved(
    rule: opdef.ShapeRule, tensors: slice = FIRST, dtype: str = "T", *, keeps: bool = True
) -> opdef.ShapeRule:
    """Return `rule` for tensors of any dtype, also for handles.

    `tensors` are the inputs whose dtype is the attribute called `dtype`. The outputs have this
    dtype too if `keeps` is true. An output that may be a single handle gets an unknown shape,
    because its variable is unknown.
    """

    def shape(ctx: opdef.ShapeContext) -> Sequence[shapes.Shape]:
        if ctx.attrs[dtype] is not dtypes.resource:
            return rule(ctx)
        inputs = [*ctx.inputs]
        inputs[tensors] = map(shapes.of_handles, inputs[tensors])
        found = rule(replace(ctx, inputs=inputs))
        return [*map(shapes.from_handles, found)] if keeps else found

    return shape


def measured(rule: facts.ValueRule) -> facts.ValueRule:
    """Return the value rule `rule`, which reads the shapes of its inputs, also for handles."""

    def value(ctx: facts.ValueContext) -> Array | None:
        if ctx.attrs.get("T") is not dtypes.resource:
            return rule(ctx)
        return rule(replace(ctx, input_shapes=[*map(shapes.of_handles, ctx.input_shapes)]))

    return value
