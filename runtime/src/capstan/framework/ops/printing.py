"""Rows of the ops that write tensors as text (core/ops/string_ops.cc, logging_ops.cc)."""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _scalar(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ()


define(
    OpDef(
        "StringFormat",
        ("inputs: T",),
        ("output: string",),
        attrs={"T": list, "template": b"%s", "placeholder": b"%s", "summarize": 3},
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "PrintV2",
        ("input: string",),
        attrs={"output_stream": b"stderr", "end": b"\n"},
        shape=_scalar,
        not_differentiable=True,
        effect=facts.EXTERNAL,
    )
)
define(
    OpDef(
        "Timestamp",
        (),
        ("ts: float64",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.EXTERNAL,
    )
)
