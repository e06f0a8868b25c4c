"""Rows of ops that hold a graph together: placeholders, identities, barriers, assertions."""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _passed_on(op: Any, grads: Sequence[Any], raw: Any) -> Sequence[Any]:
    return grads


define(OpDef("NoOp", shape=rules.nothing, stateful=True, not_differentiable=True))
define(
    OpDef(
        "Placeholder",
        outputs=("output: dtype",),
        attrs={"dtype": dtypes.DType, "shape": shapes.TensorShape(None)},
        shape=rules.from_attribute,
        stateful=True,
        not_differentiable=True,
    )
)
define(
    # Not stateful in TensorFlow, whose constant folding knows it by name: it must not be folded
    # where it might be fed.
    OpDef(
        "PlaceholderWithDefault",
        ("input: dtype",),
        ("output: dtype",),
        attrs={"shape": shapes.TensorShape},
        shape=rules.from_attribute,
        gradient=_passed_on,
        stateful=True,
    )
)
define(OpDef("Identity", ("input: T",), ("output: T",), shape=rules.unchanged, gradient=_passed_on))
define(
    OpDef(
        "StopGradient",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "Assert",
        ("condition: bool", "data: T"),
        attrs={"T": list, "summarize": 3},
        shape=rules.nothing,
        stateful=True,
        not_differentiable=True,
    )
)


def _switched(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[0], ctx.inputs[0])


def _merged(ctx: ShapeContext) -> rules.Shapes:
    first, *others = ctx.inputs
    return (first if all(other == first for other in others) else None, ())


# What hangs on the outputs runs on one of the two sides only: graph/guards.py.
define(
    OpDef(
        "Switch",
        ("data: T", "pred: bool"),
        ("output_false: T", "output_true: T"),
        shape=_switched,
        stateful=True,
    )
)
define(
    OpDef(
        "RefSwitch",
        ("data: Ref(T)", "pred: bool"),
        ("output_false: Ref(T)", "output_true: Ref(T)"),
        shape=_switched,
        stateful=True,
    )
)
define(
    OpDef(
        "Merge",
        ("inputs: N * T",),
        ("output: T", "value_index: int32"),
        shape=_merged,
        stateful=True,
    )
)
