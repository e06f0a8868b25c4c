"""Rows of eigenvalues of any square matrices, and of their exponentials (linalg_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import linear_algebra_gradients, rules, typesets


def _square(ctx: ShapeContext) -> rules.Shapes:
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    if matrix is not None:
        shapes.merge_dimension(matrix[-2], matrix[-1])
    return (matrix,)


def _values(ctx: ShapeContext) -> rules.Shapes:
    (matrix,) = _square(ctx)
    if matrix is None:
        return None, None
    return matrix[:-1], matrix if ctx.attrs["compute_v"] else (0,)


define(
    OpDef(
        "Eig",
        ("input: T",),
        ("e: Tout", "v: Tout"),
        attrs={"compute_v": True, "Tout": dtypes.DType},
        shape=_values,
        gradient=linear_algebra_gradients.any_eigen,
        types={"T": (*typesets.WIDE, *typesets.COMPLEX), "Tout": typesets.COMPLEX},
    )
)
define(
    OpDef(
        "MatrixExponential",
        ("input: T",),
        ("output: T",),
        shape=_square,
        types={"T": (*typesets.WIDE, *typesets.COMPLEX)},
    )
)
