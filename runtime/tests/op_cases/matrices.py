"""Products, diagonals and solutions of matrices."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes
from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Strategy, numbers, ranked


@st.composite
def matmul(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    rows, inner, columns = (draw(st.integers(0, 4)) for _ in range(3))
    turn_a, turn_b = draw(st.booleans()), draw(st.booleans())
    a = give.array((inner, rows) if turn_a else (rows, inner))
    b = give.array((columns, inner) if turn_b else (inner, columns))
    return Case([a, b], {"transpose_a": turn_a, "transpose_b": turn_b})


@st.composite
def batch_matmul(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype, "Tout" if row.name == "BatchMatMulV3" else "T"))
    rows, inner, columns, size = (draw(st.integers(0, 3)) for _ in range(4))
    turn_x, turn_y = draw(st.booleans()), draw(st.booleans())
    batches = [((size,), (size,)), ((), ())]
    if row.name != "BatchMatMul":
        batches += [((size,), ()), ((1,), (2, size)), ((size, 1), (1, 2))]
    first, second = draw(st.sampled_from(batches))
    x = give.array((*first, *((inner, rows) if turn_x else (rows, inner))))
    y = give.array((*second, *((columns, inner) if turn_y else (inner, columns))))
    attrs: dict[str, Any] = {"adj_x": turn_x, "adj_y": turn_y}
    if row.name == "BatchMatMulV3":
        attrs["Tout"] = dtypes.as_dtype(give.dtype)
    return Case([x, y], attrs)


EQUATIONS = (
    "ij,jk->ik", "ij->ji", "ii->i", "ij->", "iij->j", "bqnh,bknh->bnqk", "abc,cd->abd",
    "i,j->ij", "ij,ij->ij", "ij,j->i", "...ij,...jk->...ik", "...ij,jk->...ik", "i...,...j->j...i",
    "aab,bcc->ac", "ij,k->k", ",ij->ij", "ab,bc->cca", "...->...", "...,a->a...",
)  # fmt: skip
"""Products, sums, transpositions, traces and broadcasts."""


@st.composite
def einsum(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw an equation, and a size from 1 to 3 for each label. An ellipsis may be broadcast."""
    give = draw(numbers(row, dtype))
    equation = draw(st.sampled_from(EQUATIONS))
    sizes = {label: draw(st.integers(1, 3)) for label in sorted(set(equation) - set(".->,"))}
    batches = draw(
        arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=1, max_side=2)
    )
    shapes = [
        [
            size
            for label in part.replace("...", ".")
            for size in (batch if label == "." else (sizes[label],))
        ]
        for part, batch in zip(
            equation.split("->")[0].split(","), batches.input_shapes, strict=False
        )
    ]
    operands = [give.array(shape) for shape in shapes]
    if give.dtype.itemsize == 2:
        # Small integers, because TensorFlow rounds each step of these sums.
        operands = [np.asarray(np.rint(each) % 4).astype(give.dtype) for each in operands]
    return Case([operands], {"equation": equation})


@st.composite
def matrices(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices, with the diagonal that MatrixSetDiag sets, or the width of a band."""
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    if row.name == "MatrixSetDiag":
        return Case([give.array(shape), give.array((*shape[:-2], min(shape[-2:])))])
    if row.name == "MatrixBandPart":
        widths = [np.asarray(np.int64(draw(st.integers(-1, side)))) for side in shape[-2:]]
        return Case([give.array(shape), *widths], structural=frozenset({1, 2}))
    return Case([give.array(shape)])


@st.composite
def square_matrices(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices with an inverse: their diagonals outweigh all other elements."""
    give, side = draw(numbers(row, dtype)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    matrix = give.array((*batch, side, side)) / 20 + np.eye(side) * 3
    inputs = [matrix.astype(give.dtype)]
    if "Solve" in row.name:
        inputs.append(give.array((*batch, side, draw(st.integers(1, 3)))))
    flags = [name for name in ("adjoint", "lower") if name in row.attrs]
    return Case(inputs, {name: draw(st.booleans()) for name in flags})


@st.composite
def bands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices and a band of their diagonals, or a band that becomes part of matrices."""
    give = draw(numbers(row, dtype))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    lower = draw(st.integers(1 - rows, columns - 1))
    # TensorFlow 2.21 aligns the gradients of bands of V2 as those of V3.
    is_single = row.name.endswith("V2") and dtype is not None
    upper = lower if is_single else draw(st.integers(lower, columns - 1))
    # TensorFlow ends its process if a band of several diagonals has one axis.
    batch = draw(st.sampled_from([(), (2,)])) if lower == upper else (2,)
    attrs = {}
    if row.name.endswith("V3"):
        attrs["align"] = draw(st.sampled_from(row.choices["align"]))
    count = () if lower == upper else (upper - lower + 1,)
    length = min(rows + min(upper, 0), columns - max(lower, 0))
    ends = [lower, upper] if count else draw(st.sampled_from([lower, [lower], [lower, lower]]))
    k, matrix = np.array(ends, np.int32), (*batch, rows, columns)
    band, padding = (*batch, *count, length), give.array(())
    if row.name.startswith("MatrixDiagPart"):
        return Case([give.array(matrix), k, padding], attrs, frozenset({1, 2}))
    if row.name.startswith("MatrixSetDiag"):
        return Case([give.array(matrix), give.array(band), k], attrs, frozenset({2}))
    # The least matrix may be too small for the shorter diagonals, and then has no gradient.
    least_rows, least_columns = length - min(upper, 0), length + max(lower, 0)
    side = max(least_rows, least_columns)
    choices = [
        given
        for given, size in (
            ((rows, columns), (rows, columns)),
            ((rows, -1), (rows, least_columns)),
            ((-1, columns), (least_rows, columns)),
            ((-1, -1), (side, side)),
        )
        if -size[0] < lower and upper < size[1]
    ]
    sizes = [np.asarray(np.int32(size)) for size in draw(st.sampled_from(choices))]
    return Case([give.array(band), k, *sizes, padding], attrs, frozenset({1, 2, 3, 4}))


@st.composite
def doubled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a tensor whose shape has two equal halves."""
    half = draw(arrays.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=3))
    return Case([draw(numbers(row, dtype)).array(half * 2)])


CASES: dict[str, Strategy] = {
    "MatMul": matmul, "BatchMatMul": batch_matmul, "BatchMatMulV2": batch_matmul,
    "BatchMatMulV3": batch_matmul, "Einsum": einsum,
    **dict.fromkeys(("MatrixDiagPart", "MatrixSetDiag", "MatrixBandPart"), matrices),
    **dict.fromkeys(
        (
            "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
            "MatrixSquareRoot", "MatrixTriangularSolve",
        ),
        square_matrices,
    ),
    **dict.fromkeys(
        (
            "MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPartV2", "MatrixDiagPartV3",
            "MatrixSetDiagV2", "MatrixSetDiagV3",
        ),
        bands,
    ),
    "MatrixDiag": ranked, "Diag": ranked, "DiagPart": doubled,
}  # fmt: skip
