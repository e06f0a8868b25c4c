"""The row of n-grams of strings (tensorflow/core/ops/string_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _ragged(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 1)
    return ((None,), shapes.with_rank(ctx.inputs[1], 1))


define(
    OpDef(
        "StringNGrams",
        ("data: string", "data_splits: Tsplits"),
        ("ngrams: string", "ngrams_splits: Tsplits"),
        attrs={
            "separator": bytes,
            "ngram_widths": list,
            "left_pad": bytes,
            "right_pad": bytes,
            "pad_width": int,
            "preserve_short_sequences": bool,
            "Tsplits": dtypes.int64,
        },
        shape=_ragged,
        not_differentiable=True,
        types={"Tsplits": typesets.INDEX},
    )
)
