"""Row of the op that counts values in bins of one width (core/ops/math_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _counts(ctx: ShapeContext) -> rules.Shapes:
    (length,) = rules.with_rank(ctx.inputs[1], 1)
    shapes.merge_dimension(length, 2)
    rules.with_rank(ctx.inputs[2], 0)
    bins = ctx.constant(2)
    if bins is None:
        return ((None,),)
    if bins <= 0:
        raise ValueError(f"Requires nbins > 0: {int(bins)}")
    return ((int(bins),),)


define(
    OpDef(
        "HistogramFixedWidth",
        ("values: T", "value_range: T", "nbins: int32"),
        ("out: dtype",),
        attrs={"dtype": dtypes.int32},
        shape=_counts,
        types={
            "T": (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64),
            "dtype": typesets.INDEX,
        },
        host=("value_range", "nbins"),
    )
)
