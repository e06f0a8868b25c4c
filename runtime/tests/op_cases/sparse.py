"""Operations on sparse tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes
from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Numbers, Strategy, numbers, solid_shapes


def _sorted_places(draw: Draw, give: Numbers, shape: Sequence[int]) -> Any:
    """Draw distinct places of a sparse tensor, in order, as a matrix of int64."""
    total = int(np.prod(shape))
    flat = np.sort(give.random.permutation(total)[: draw(st.integers(1, 4))])
    return np.stack(np.unravel_index(flat, shape), -1).astype(np.int64)


@st.composite
def dense(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    places = _sorted_places(draw, give, shape)
    operands = [places, np.array(shape, np.int64), give.array((len(places),)), give.array(())]
    return Case(operands, structural=frozenset({0, 1}))


@st.composite
def sparse_product(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    places = _sorted_places(draw, give, shape)
    turns_a, turns_b = draw(st.booleans()), draw(st.booleans())
    b_shape = (shape[0] if turns_a else shape[1], draw(st.integers(1, 3)))
    b = give.array(b_shape[::-1] if turns_b else b_shape)
    operands = [places, give.array((len(places),)), np.array(shape, np.int64), b]
    return Case(operands, {"adjoint_a": turns_a, "adjoint_b": turns_b}, frozenset({0, 2}))


@st.composite
def sparse_pair(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two sparse tensors of one shape, or the gradient of the values of their sum."""
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    places = [_sorted_places(draw, give, shape) for _ in range(2)]
    if row.name == "SparseAddGrad":
        union = np.unique(np.concatenate(places), axis=0)
        return Case([give.array((len(union),)), *places, union], structural=frozenset({1, 2, 3}))
    sizes = np.array(shape, np.int64)
    operands = [part for each in places for part in (each, give.array((len(each),)), sizes)]
    if row.name == "SparseAdd":
        operands.append(np.zeros((), give.dtype))
    return Case(operands, structural=frozenset({0, 2, 3, 5, 6}) & frozenset(range(len(operands))))


@st.composite
def sparse_and_dense(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a sparse tensor, alone or with a tensor that may broadcast to its shape."""
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    places = _sorted_places(draw, give, shape)
    operands = [places, give.array((len(places),)), np.array(shape, np.int64)]
    if row.name == "SparseTensorDenseAdd":
        operands.append(give.array(shape))
    elif row.name != "SparseSoftmax":
        sizes = [draw(st.sampled_from([1, size])) for size in shape]
        operands.append(give.array(sizes[draw(st.integers(0, len(sizes) - 1)) :]))
    return Case(operands, structural=frozenset({0, 2}))


@st.composite
def sparse(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a sparse matrix, with the default value that fills its empty rows."""
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int64]))
    give, shape = draw(numbers(row, kind)), (draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    places = _sorted_places(draw, give, shape)
    if row.name == "SparseReorder":
        places = np.ascontiguousarray(places[::-1])
    operands = [places, give.array((len(places),)), np.array(shape, np.int64)]
    if row.name == "SparseFillEmptyRows":
        operands.append(give.array(()))
    return Case(operands, structural=frozenset({0, 2}))


@st.composite
def filled_grad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, size = draw(numbers(row, dtype)), draw(st.integers(1, 4))
    places = np.sort(give.random.permutation(size)[: draw(st.integers(1, size))]).astype(np.int64)
    return Case([places, give.array((size,))], structural=frozenset({0}))


CASES: dict[str, Strategy] = {
    "SparseToDense": dense, "SparseTensorDenseMatMul": sparse_product,
    **dict.fromkeys(("SparseFillEmptyRows", "SparseReorder"), sparse),
    "SparseFillEmptyRowsGrad": filled_grad,
    **dict.fromkeys(
        ("SparseAdd", "SparseAddGrad", "SparseSparseMaximum", "SparseSparseMinimum"), sparse_pair
    ),
    **dict.fromkeys(
        (
            "SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseSoftmax",
            "SparseTensorDenseAdd",
        ),
        sparse_and_dense,
    ),
}  # fmt: skip
