"""Slices, lookups by index, and the numbers of elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes
from capstan.framework import opdef
from op_cases.drawing import (
    Case,
    Draw,
    Numbers,
    Strategy,
    numbers,
    ranked,
    small_shapes,
    solid_shapes,
)


@st.composite
def slice_(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    begin, size = [], []
    for axis_size in value.shape:
        begin.append(draw(st.integers(0, axis_size)))
        size.append(draw(st.integers(-1, axis_size - begin[-1])))
    bounds = [np.array(begin, np.int32), np.array(size, np.int32)]
    return Case([value, *bounds], structural=frozenset({1, 2}))


@st.composite
def strided(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a value and an index of any form, as vectors and masks."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    count = draw(st.integers(0, value.ndim))
    masks = dict.fromkeys(
        ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"], 0
    )
    begin, end, steps, axis = [], [], [], 0
    ellipsis_at = draw(st.integers(0, count * 2 + 1))
    for bit in range(count):
        size = value.shape[axis]
        if bit == ellipsis_at:
            masks["ellipsis_mask"] |= 1 << bit
            axis = value.ndim - (count - bit - 1)
        elif draw(st.booleans()) and size:
            masks["shrink_axis_mask"] |= 1 << bit
            axis += 1
        else:
            masks["begin_mask"] |= draw(st.integers(0, 1)) << bit
            masks["end_mask"] |= draw(st.integers(0, 1)) << bit
            axis += 1
        shrinks = masks["shrink_axis_mask"] >> bit & 1
        begin.append(draw(st.integers(-size, size - 1)) if size else 0)
        end.append(begin[-1] + 1 if shrinks else draw(st.integers(-size - 1, size + 1)))
        steps.append(1 if shrinks else draw(st.sampled_from([1, 2, -1, -2])))
    if draw(st.booleans()):
        masks["new_axis_mask"] |= 1 << len(begin)
        begin.append(0), end.append(0), steps.append(draw(st.integers(0, 1)))
    bounds = [np.array(numbers, np.int32) for numbers in (begin, end, steps)]
    return Case([value, *bounds], masks, frozenset({1, 2, 3}))


@st.composite
def strided_grad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(strided(row, dtype))
    value, *bounds = case.inputs
    index = []
    for bit, (first, last, step) in enumerate(zip(*bounds, strict=True)):
        flags = {name for name, mask in case.attrs.items() if mask >> bit & 1}
        index.append(
            ... if "ellipsis_mask" in flags
            else None if "new_axis_mask" in flags
            else int(first) if "shrink_axis_mask" in flags
            else slice(
                None if "begin_mask" in flags else first,
                None if "end_mask" in flags else last,
                step,
            )
        )  # fmt: skip
    part = np.asarray(value[tuple(index)])
    sizes = np.array(value.shape, np.int32)
    return Case([sizes, *bounds, part], case.attrs, frozenset({0, 1, 2, 3}))


def _indices(draw: Draw, give: Numbers, bound: int) -> Any:
    shape = draw(small_shapes) if bound else (0,)
    kind = draw(st.sampled_from([np.int32, np.int64]))
    return np.asarray(give.random.integers(0, max(bound, 1), shape)).astype(kind)


@st.composite
def gather(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype, "Tparams"))
    params = give.array(draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)))
    if row.name == "Gather":
        return Case([params, _indices(draw, give, len(params))], structural=frozenset({1}))
    axis = draw(st.integers(-params.ndim, params.ndim - 1))
    indices = _indices(draw, give, params.shape[axis])
    attrs: dict[str, Any] = {}
    if axis % params.ndim and draw(st.booleans()):
        # Every batch of the leading axes has its own row of indices.
        batch = draw(st.integers(1, axis % params.ndim))
        form = (*params.shape[:batch], *(indices.shape if params.shape[axis] else (0,)))
        drawn = give.random.integers(0, max(params.shape[axis], 1), form)
        indices = np.asarray(drawn).astype(indices.dtype)
        # Negative numbers count from the rank of the indices, so 0 cannot stand for the rank.
        attrs["batch_dims"] = draw(st.sampled_from([batch, batch - indices.ndim or batch]))
    operands = [params, indices, np.asarray(np.int32(axis))]
    return Case(operands, attrs, structural=frozenset({1, 2}))


@st.composite
def stitch(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw indices that name every position exactly once, in two lists, and data for each."""
    give, rest = (
        draw(numbers(row, dtype)),
        draw(arrays.array_shapes(min_dims=0, max_dims=2, max_side=2)),
    )
    places = draw(st.permutations(range(draw(st.integers(0, 6)))))
    cut = draw(st.integers(0, len(places)))
    ids = [np.array(part, np.int32) for part in (places[:cut], places[cut:])]
    data = [give.array((len(part), *rest)) for part in ids]
    return Case([ids, data], structural=frozenset({0}))


@st.composite
def permutation(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = draw(st.sampled_from([np.int32, np.int64]))
    return Case([np.array(draw(st.permutations(range(draw(st.integers(0, 6))))), kind)])


@st.composite
def one_hot(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, depth = draw(numbers(row, dtype)), draw(st.integers(0, 4))
    kind = draw(st.sampled_from([np.uint8, np.int32, np.int64]))
    indices = np.asarray(give.random.integers(0, depth + 2, draw(small_shapes))).astype(kind)
    operands = [indices, np.asarray(np.int32(depth)), give.array(()), give.array(())]
    return Case(operands, {"axis": draw(st.integers(-1, indices.ndim))}, frozenset({0, 1}))


@st.composite
def unique(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    values = give.array((draw(st.integers(0, 5)),))
    return Case([np.concatenate([values, values[::2]]).astype(values.dtype)])


@st.composite
def difference(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    x = draw(numbers(row, dtype)).array((draw(st.integers(0, 5)),))
    return Case([x, x[::2].copy()])


@st.composite
def partitions(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape, count = draw(numbers(row, dtype)), draw(small_shapes), draw(st.integers(1, 3))
    parts = give.random.integers(0, count, shape[: draw(st.integers(0, len(shape)))])
    operands = [give.array(shape), np.asarray(parts).astype(np.int32)]
    return Case(operands, {"num_partitions": count}, frozenset({1}))


def _places(draw: Draw, give: Numbers, shape: Sequence[int], is_distinct: bool) -> Any:
    """Draw coordinates of slices of an array, as the last axis of an array."""
    depth = draw(st.integers(1, len(shape)))
    total = int(np.prod(shape[:depth]))
    flat = give.random.permutation(total)[: draw(st.integers(0, 3))]
    if not is_distinct and total and flat.size:
        flat = np.append(flat, flat[0])
    found = np.stack(np.unravel_index(flat, shape[:depth]), -1)
    return found.astype(draw(st.sampled_from([np.int32, np.int64])))


@st.composite
def gather_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype, "Tparams"))
    params = give.array(draw(solid_shapes))
    return Case([params, _places(draw, give, params.shape, False)], structural=frozenset({1}))


@st.composite
def scatter_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    places = _places(draw, give, shape, False)
    updates = give.array((*places.shape[:-1], *shape[places.shape[-1] :]))
    sizes = np.array(shape, places.dtype)
    return Case([places, updates, sizes], structural=frozenset({0, 2}))


@st.composite
def changed_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    places = _places(draw, give, shape, row.name == "TensorScatterUpdate")
    updates = give.array((*places.shape[:-1], *shape[places.shape[-1] :]))
    return Case([give.array(shape), places, updates], structural=frozenset({1}))


@st.composite
def unravelled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    sizes = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.sampled_from([(), (1,), (4,)]))
    index = draw(st.sampled_from([np.int32, np.int64]))
    places = np.asarray(random.integers(0, int(np.prod(sizes)), shape)).astype(index)
    return Case([places, np.array(sizes, index)], structural=frozenset({1}))


@st.composite
def searched(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw rows in order, and values some of which are in the rows."""
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, count = draw(numbers(row, kind)), draw(st.integers(1, 3))
    lines = np.sort(give.array((count, draw(st.integers(1, 4)))), axis=1)
    values = np.concatenate([lines[:, :1], give.array((count, draw(st.integers(0, 3))))], 1)
    out_type = draw(st.sampled_from([dtypes.int32, dtypes.int64]))
    return Case([lines, values.astype(lines.dtype)], {"out_type": out_type})


CASES: dict[str, Strategy] = {
    "Slice": slice_, "StridedSlice": strided, "StridedSliceGrad": strided_grad,
    **dict.fromkeys(("Gather", "GatherV2"), gather),
    "GatherNd": gather_nd, "ScatterNd": scatter_nd,
    **dict.fromkeys(
        (
            *("ScatterNdNonAliasingAdd", "TensorScatterUpdate", "TensorScatterAdd"),
            *("TensorScatterSub", "TensorScatterMax", "TensorScatterMin"),
        ),
        changed_nd,
    ),
    "DynamicPartition": partitions, "DynamicStitch": stitch, "ParallelDynamicStitch": stitch,
    "InvertPermutation": permutation, "UnravelIndex": unravelled, "OneHot": one_hot,
    "Where": ranked, "Unique": unique, "UniqueWithCounts": unique, "ListDiff": difference,
    **dict.fromkeys(("LowerBound", "UpperBound"), searched),
}  # fmt: skip
