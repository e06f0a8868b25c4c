"""Rows of the ops that load a matrix for a new vocabulary (core/ops/checkpoint_ops.cc)."""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _remapping(ctx: ShapeContext) -> rules.Shapes:
    for shape in ctx.inputs:
        shapes.with_rank(shape, 0)
    return ((ctx.attrs["num_new_vocab"],), ())


def _matrix(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return ((ctx.attrs["num_rows"], ctx.attrs["num_cols"]),)


define(
    OpDef(
        "GenerateVocabRemapping",
        ("new_vocab_file: string", "old_vocab_file: string"),
        ("remapping: int64", "num_present: int32"),
        attrs={"new_vocab_offset": int, "num_new_vocab": int, "old_vocab_size": -1},
        minima={"new_vocab_offset": 0, "num_new_vocab": 0, "old_vocab_size": -1},
        shape=_remapping,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "LoadAndRemapMatrix",
        (
            "ckpt_path: string",
            "old_tensor_name: string",
            "row_remapping: int64",
            "col_remapping: int64",
            "initializing_values: float32",
        ),
        ("output_matrix: float32",),
        attrs={"num_rows": int, "num_cols": int, "max_rows_in_memory": -1},
        minima={"num_rows": 0, "num_cols": 1},
        shape=_matrix,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
