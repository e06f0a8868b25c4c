"""Rows of the ops of matrix factorization (tensorflow/contrib/factorization/ops)."""

from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _equations(ctx: ShapeContext) -> rules.Shapes:
    factors, size = ctx.inputs[0], ctx.constant(7)
    rows = None if size is None else int(size)
    rank = None if factors is None else factors[-1]
    return (rows, rank, rank), (rows, rank)


def _entries(ctx: ShapeContext) -> rules.Shapes:
    mask = ctx.inputs[2]
    return ((None if mask is None else mask[0],),)


define(
    OpDef(
        "WALSComputePartialLhsAndRhs",
        (
            "factors: float32", "factor_weights: float32", "unobserved_weights: float32",
            "input_weights: float32", "input_indices: int64", "input_values: float32",
            "entry_weights: float32", "input_block_size: int64", "input_is_transpose: bool",
        ),
        ("partial_lhs: float32", "partial_rhs: float32"),
        shape=_equations,
    )
)  # fmt: skip
define(
    OpDef(
        "MaskedMatmul",
        (
            "a: float32", "b: float32", "mask_indices: int64", "transpose_a: bool",
            "transpose_b: bool",
        ),
        ("prod_values: float32",),
        shape=_entries,
    )
)  # fmt: skip
