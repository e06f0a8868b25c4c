"""Rows of the ops that producers of input use: they count epochs and shuffle.

Sources: core/ops/{state_ops,resource_variable_ops,random_ops}.cc.
"""

from typing import Final

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

COUNTER: Final = "CountUpTo"
"""The op that counts the epochs of a producer, and fails after the last."""


def _counted(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.with_rank(ctx.inputs[0], 0),)


define(
    OpDef(
        COUNTER,
        ("ref: Ref(T)",),
        ("output: T",),
        attrs={"limit": int},
        shape=_counted,
        not_differentiable=True,
        effect=facts.changes("ref"),
        types={"T": typesets.INDEX},
    )
)
define(
    OpDef(
        "ResourceCountUpTo",
        ("resource: resource",),
        ("output: T",),
        attrs={"limit": int, "T": dtypes.DType},
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.changes("resource"),
        types={"T": typesets.INDEX},
    )
)
define(
    OpDef(
        "RandomShuffle",
        ("value: T",),
        ("output: T",),
        attrs={"seed": 0, "seed2": 0},
        shape=rules.unchanged,
        not_differentiable=True,
        effect=facts.RANDOM,
    )
)
