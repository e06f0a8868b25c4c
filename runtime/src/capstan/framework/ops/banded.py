"""The row of systems with banded triangular matrices (core/ops/linalg_ops.cc).

The bands of a matrix lie side by side, the diagonal first if they are below it, and else last. The
numbers of a band that would lie outside of the matrix have no effect.
"""

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, unbroadcast


def _solved(ctx: ShapeContext) -> rules.Shapes:
    bands, rhs = (shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs)
    if bands is None or rhs is None:
        return (None,)
    if bands[-2] == 0:
        raise ValueError("Dimension must be at least 1 for the bands of the matrix, but is 0")
    size = shapes.merge_dimension(bands[-1], rhs[-2])
    batch = shapes.broadcast(bands[:-2], rhs[:-2]) or ()
    return ((*batch, size, rhs[-1]),)


def _solve(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    bands, solution = op.inputs[0], op.outputs[0]
    lower, is_adjoint = op.get_attr("lower"), op.get_attr("adjoint")
    by_rhs = raw.BandedTriangularSolve(bands, grads[0], lower=lower, adjoint=not is_adjoint)
    pair = (solution, by_rhs) if is_adjoint else (by_rhs, solution)
    by_matrix = raw.Neg(raw.BatchMatMulV2(*pair, adj_y=True))
    last = raw.Sub(raw.StridedSlice(raw.Shape(bands), [-2], [-1], [1]), np.array([1], np.int32))
    zero = np.array([0], np.int32)
    ends = [raw.Neg(last), zero] if lower else [zero, last]
    padding = raw.Cast(np.int32(0), DstT=bands.dtype.base_dtype)
    found = raw.MatrixDiagPartV3(by_matrix, raw.ConcatV2(ends, 0), padding, align=b"LEFT_RIGHT")
    # A single band has lost its axis.
    batch = raw.StridedSlice(raw.Shape(by_matrix), [0], [-2], [1])
    sizes = raw.StridedSlice(raw.Shape(bands), [-2], [0], [1], end_mask=1)
    by_bands = raw.Reshape(found, raw.ConcatV2([batch, sizes], 0))
    return unbroadcast.batches(op.inputs, (by_bands, by_rhs), raw)


define(
    OpDef(
        "BandedTriangularSolve",
        ("matrix: T", "rhs: T"),
        ("output: T",),
        attrs={"lower": True, "adjoint": False},
        shape=_solved,
        gradient=_solve,
        types={
            "T": (
                *(dtypes.float64, dtypes.float32, dtypes.float16),
                *(dtypes.complex64, dtypes.complex128),
            )
        },
    )
)
