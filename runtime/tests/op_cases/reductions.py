"""Reductions along axes and of segments, counts, and the largest elements."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes, elementwise
from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Numbers, Strategy, numbers, small_shapes, solid_shapes


@st.composite
def reduction(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    if row.inputs[0].endswith("bool"):
        dtype = dtypes.bool_
    shape = draw(solid_shapes if dtype is dtypes.float64 else small_shapes)
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True) if shape else st.just([]))
    signed = [axis - draw(st.sampled_from([0, len(shape)])) for axis in axes]
    index = draw(st.sampled_from([np.int32, np.int64]))
    value = draw(numbers(row, dtype)).array(shape)
    if row.name == "Prod":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    if row.name == "EuclideanNorm" and not elementwise.is_number(value.dtype):
        value = np.asarray(value % 3)  # The sum of the squares fits all types.
    attrs = {"keep_dims": draw(st.booleans())}
    return Case([value, np.array(signed, index)], attrs, frozenset({1}))


@st.composite
def along_axis(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw an operand and one axis, as for ArgMax and Cumsum."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axis = np.int32(draw(st.integers(-value.ndim, value.ndim - 1)))
    attrs = {}
    if "exclusive" in row.attrs:
        attrs = {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())}
    if "output_type" in row.attrs:
        attrs = {"output_type": draw(st.sampled_from([dtypes.int32, dtypes.int64]))}
    return Case([value, np.asarray(axis)], attrs, frozenset({1}))


@st.composite
def largest(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    k = np.asarray(np.int32(draw(st.integers(1, value.shape[-1]))))
    return Case([value, k], structural=frozenset({1}))


@st.composite
def nth(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    n = np.asarray(np.int32(draw(st.integers(0, value.shape[-1] - 1))))
    return Case([value, n], {"reverse": draw(st.booleans())}, frozenset({1}))


@st.composite
def top_k(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = Numbers(draw(st.integers(0, 99)), np.float32), (4, draw(st.integers(1, 4)))
    targets = give.random.integers(-1, shape[1] + 1, shape[0]).astype(np.int32)
    k = draw(st.integers(0, 5))
    operands = [give.array(shape), targets]
    if row.name == "InTopK":
        return Case(operands, {"k": k})
    return Case([*operands, np.asarray(np.int32(k))])


@st.composite
def binned(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw values of which some are outside the range, and none is where two bins meet."""
    give = draw(numbers(row, dtype))
    values = give.array(draw(small_shapes))
    ends = np.array([-5.03, 4.12] if elementwise.is_number(give.dtype) else [20, 70], give.dtype)
    operands = [values, ends, np.asarray(np.int32(draw(st.integers(1, 7))))]
    out_type = draw(st.sampled_from([dtypes.int32, dtypes.int64]))
    if dtype is not None:
        out_type = dtypes.int32  # The only type of the kernel for GPUs.
    return Case(operands, {"dtype": out_type}, frozenset({1, 2}))


@st.composite
def bins(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    values = np.asarray(give.random.integers(0, 5, shape)).astype(np.int32)
    weights = give.array(draw(st.sampled_from([shape, (0,)])))
    size = np.asarray(np.int32(draw(st.integers(1, 6))))
    return Case([values, size, weights], structural=frozenset({1}))


@st.composite
def segment_sum(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape, count = draw(numbers(row, dtype)), draw(small_shapes), draw(st.integers(1, 4))
    ids = give.random.integers(-1, count, shape[: draw(st.integers(0, len(shape)))])
    kind = draw(st.sampled_from([np.int32, np.int64]))
    operands = [give.array(shape), np.asarray(ids).astype(kind), np.asarray(np.int32(count))]
    return Case(operands, structural=frozenset({1, 2}))


@st.composite
def sorted_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    ids = np.sort(give.random.integers(0, 4, shape[0])).astype(np.int32)
    value = give.array(shape)
    if row.name == "SegmentProd":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    return Case([value, ids], structural=frozenset({1}))


@st.composite
def unsorted_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw rows of which each segment has at least one. An empty one would have a huge value."""
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    ids_shape = shape[: draw(st.integers(1, len(shape)))]
    size = int(np.prod(ids_shape))
    count = draw(st.integers(1, min(size, 4)))
    ids = give.random.permutation(np.arange(size) % count).reshape(ids_shape).astype(np.int32)
    value = give.array(shape)
    if row.name == "UnsortedSegmentProd":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    return Case([value, ids, np.asarray(np.int32(count))], structural=frozenset({1, 2}))


@st.composite
def looked_up_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    count = draw(st.integers(1, 5))
    indices = give.random.integers(0, shape[0], count).astype(np.int32)
    ids = np.sort(give.random.integers(0, 3, count)).astype(np.int32)
    if not row.name.endswith("WithNumSegments"):
        return Case([give.array(shape), indices, ids], structural=frozenset({1, 2}))
    segments = np.array(draw(st.integers(ids.max() + 1, 5)), draw(st.sampled_from(["i4", "i8"])))
    return Case([give.array(shape), indices, ids, segments], structural=frozenset({1, 2, 3}))


CASES: dict[str, Strategy] = {
    **dict.fromkeys(
        ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm"), reduction
    ),
    **dict.fromkeys(
        ("ArgMax", "ArgMin", "Cumsum", "Cumprod", "CumulativeLogsumexp"), along_axis
    ),
    "TopKV2": largest, "NthElement": nth,
    **dict.fromkeys(("InTopK", "InTopKV2"), top_k),
    "HistogramFixedWidth": binned, "Bincount": bins,
    "UnsortedSegmentSum": segment_sum,
    **dict.fromkeys(
        ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"), sorted_segments
    ),
    **dict.fromkeys(
        ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"), unsorted_segments
    ),
    **dict.fromkeys(
        (
            f"SparseSegment{kind}{end}"
            for kind in ("Sum", "Mean", "SqrtN")
            for end in ("", "WithNumSegments")
        ),
        looked_up_segments,
    ),
}  # fmt: skip
