"""Rows of the ops on connected pixels and on pairs (contrib/image/ops/image_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_PIXELS = (
    *(dtypes.int64, dtypes.int32, dtypes.uint16, dtypes.int16, dtypes.uint8, dtypes.int8),
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.string),
)


def _pairs(ctx: ShapeContext) -> rules.Shapes:
    rows, columns = rules.with_rank(ctx.inputs[0], 2)
    return ((rows,), (columns,))


define(
    OpDef(
        "BipartiteMatch",
        ("distance_mat: float32", "num_valid_rows: float32"),
        ("row_to_col_match_indices: int32", "col_to_row_match_indices: int32"),
        attrs={"top_k": -1},
        shape=_pairs,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "ImageConnectedComponents",
        ("image: dtype",),
        ("components: int64",),
        shape=lambda ctx: (ctx.inputs[0],),
        not_differentiable=True,
        types={"dtype": _PIXELS},
    )
)
