"""Row of the op that follows beams to their starts (contrib/seq2seq/ops/beam_search_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _beams_shape(ctx: ShapeContext) -> rules.Shapes:
    steps, parents, lengths, end = ctx.inputs
    rules.with_rank(end, 0)
    (batch,) = rules.with_rank(lengths, 1)
    steps = shapes.merge(rules.with_rank(steps, 3), rules.with_rank(parents, 3))
    return (shapes.merge(steps, (None, batch, None)),)


define(
    OpDef(
        "GatherTree",
        ("step_ids: T", "parent_ids: T", "max_sequence_lengths: int32", "end_token: T"),
        ("beams: T",),
        shape=_beams_shape,
        types={"T": (dtypes.int32,)},
    )
)
