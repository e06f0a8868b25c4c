"""The row of the distance of sequences (core/ops/array_ops.cc)."""

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _groups(ctx: ShapeContext) -> rules.Shapes:
    """Give the result the axes before the last one, each with the larger of its two sizes."""
    for index in (0, 3):
        shapes.with_rank(ctx.inputs[index], 2)
        shapes.with_rank(ctx.inputs[index + 1], 1)
        shapes.with_rank(ctx.inputs[index + 2], 1)
    shapes.merge(ctx.inputs[2], ctx.inputs[5])
    hypothesis, truth = ctx.constant(2), ctx.constant(5)
    if hypothesis is None or truth is None:
        return (None,)
    pairs = zip(hypothesis.tolist()[:-1], truth.tolist()[:-1], strict=True)
    return (tuple(max(pair) for pair in pairs),)


define(
    OpDef(
        "EditDistance",
        (
            *("hypothesis_indices: int64", "hypothesis_values: T", "hypothesis_shape: int64"),
            *("truth_indices: int64", "truth_values: T", "truth_shape: int64"),
        ),
        ("output: float32",),
        attrs={"normalize": True},
        shape=_groups,
        not_differentiable=True,
    )
)
