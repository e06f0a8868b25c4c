"""The row of Const, whose value is an attribute."""

from collections.abc import Sequence

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define


def _shape_of_value(ctx: ShapeContext) -> Sequence[shapes.Shape]:
    return (ctx.attrs["value"].shape,)


def _value(ctx: facts.ValueContext) -> Array | None:
    value: Array = ctx.attrs["value"]
    return value


define(
    OpDef(
        "Const",
        outputs=("output: dtype",),
        attrs={"value": np.ndarray, "dtype": dtypes.DType},
        shape=_shape_of_value,
        not_differentiable=True,
        role=facts.Role.CONSTANT,
        value=_value,
    )
)
