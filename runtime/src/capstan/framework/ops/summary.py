"""Rows of ops that write Summary protocol buffers for TensorBoard (core/ops/logging_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _tagged(ctx: ShapeContext) -> rules.Shapes:
    rules.merged(ctx)
    return ((),)


define(
    OpDef(
        "ScalarSummary",
        ("tags: string", "values: T"),
        ("summary: string",),
        shape=_tagged,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "HistogramSummary",
        ("tag: string", "values: T"),
        ("summary: string",),
        attrs={"T": dtypes.float32},
        shape=rules.scalar,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "TensorSummaryV2",
        ("tag: string", "tensor: T", "serialized_summary_metadata: string"),
        ("summary: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "MergeSummary",
        ("inputs: N * string",),
        ("summary: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
