"""Operations that give elements other places, and keep their values."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes, tensor_shape
from capstan.framework import opdef
from op_cases.drawing import (
    Case,
    Draw,
    Strategy,
    numbers,
    several,
    small_shapes,
    solid_shapes,
    unary,
)


def _factors(count: int, draw: Draw) -> list[int]:
    """Draw sizes whose product is `count`."""
    sizes = []
    for _ in range(draw(st.integers(0, 3))):
        options = [size for size in range(1, count + 1) if count and count % size == 0] or [0]
        sizes.append(draw(st.sampled_from(options)))
        count = count // sizes[-1] if sizes[-1] else 0
    return [*sizes, count] if count != 1 or not sizes else sizes


@st.composite
def reshape(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    sizes = _factors(value.size, draw)
    if value.size and draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    index = draw(st.sampled_from([np.int32, np.int64]))
    return Case([value, np.array(sizes, index)], structural=frozenset({1}))


@st.composite
def expand_dims(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    axis = np.asarray(np.int32(draw(st.integers(-value.ndim - 1, value.ndim))))
    return Case([value, axis], structural=frozenset({1}))


@st.composite
def squeeze(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    axes = draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    return Case([value], {"squeeze_dims": axes})


@st.composite
def broadcast_to(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    value = draw(numbers(row, dtype)).array(pair.input_shapes[0])
    return Case([value, np.array(pair.result_shape, np.int32)], structural=frozenset({1}))


@st.composite
def gradient_args(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    sizes = [np.array(shape, np.int32) for shape in pair.input_shapes]
    return Case(sizes, structural=frozenset({0, 1}))


@st.composite
def transpose(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    order = np.array(draw(st.permutations(range(value.ndim))), np.int32)
    return Case([value, order], structural=frozenset({1}))


@st.composite
def concat(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for _ in range(draw(st.integers(2, 3))):
        sizes = list(shape)
        sizes[axis] = draw(st.integers(0, 3))
        parts.append(give.array(sizes))
    return Case([parts, np.asarray(np.int32(axis))], structural=frozenset({1}))


@st.composite
def concat_offset(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(concat(opdef.lookup("ConcatV2"), dtypes.float32))
    parts, axis = case.inputs
    axis = np.asarray(axis % parts[0].ndim)
    return Case(
        [axis, [np.array(part.shape, np.int32) for part in parts]], structural=frozenset({0, 1})
    )


@st.composite
def pack(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(several(row, dtype))
    rank = case.inputs[0][0].ndim
    return Case(case.inputs, {"axis": draw(st.integers(-rank - 1, rank))})


@st.composite
def unpack(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axis = draw(st.integers(-value.ndim, value.ndim - 1))
    return Case([value], {"num": value.shape[axis], "axis": axis})


@st.composite
def split(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape = list(draw(solid_shapes))
    axis, ways = draw(st.integers(-len(shape), len(shape) - 1)), draw(st.integers(1, 3))
    shape[axis] = ways * draw(st.integers(0, 2))
    value = draw(numbers(row, dtype)).array(shape)
    return Case([np.asarray(np.int32(axis)), value], {"num_split": ways}, frozenset({0}))


@st.composite
def split_v(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape, sizes = (
        list(draw(solid_shapes)),
        draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)),
    )
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] = sum(sizes)
    value = draw(numbers(row, dtype)).array(shape)
    if draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    operands = [value, np.array(sizes, np.int64), np.asarray(np.int32(axis))]
    return Case(operands, {"num_split": len(sizes)}, frozenset({1, 2}))


@st.composite
def tile(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    counts = [draw(st.integers(0, 2)) for _ in value.shape]
    return Case([value, np.array(counts, np.int32)], structural=frozenset({1}))


@st.composite
def pad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    margins = [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in value.shape]
    return Case([value, np.array(margins, np.int32).reshape(-1, 2)], structural=frozenset({1}))


@st.composite
def reversal(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    axes = draw(st.lists(st.sampled_from(range(value.ndim)), unique=True)) if value.ndim else []
    signed = [axis - draw(st.sampled_from([0, value.ndim])) for axis in axes]
    return Case([value, np.array(signed, np.int32)], structural=frozenset({1}))


@st.composite
def sequences(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give = draw(numbers(row, kind))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    batch, along = draw(st.permutations(range(len(shape))))[:2]
    lengths = give.random.integers(0, shape[along] + 1, shape[batch])
    index = draw(st.sampled_from([np.int32, np.int64]))
    attrs = {"seq_dim": along, "batch_dim": batch}
    return Case([give.array(shape), lengths.astype(index)], attrs, frozenset({1}))


@st.composite
def rolled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw shifts of several axes, some of them twice, or one shift."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axes = st.integers(-value.ndim, value.ndim - 1)
    pairs = draw(st.lists(st.tuples(st.integers(-4, 4), axes), min_size=1, max_size=3))
    index = draw(st.sampled_from([np.int32, np.int64]))
    shifts, names = (np.array(each, index) for each in zip(*pairs, strict=True))
    is_scalar = draw(st.booleans())
    bounds = [np.asarray(shifts[0]), np.asarray(names[0])] if is_scalar else [shifts, names]
    return Case([value, *bounds], structural=frozenset({1, 2}))


@st.composite
def reinterpreted(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    targets = [target for target in row.types["type"] if not target.is_quantized]
    target = draw(st.sampled_from(targets))
    # Arbitrary bits may be NaN, which is not equal to itself.
    if target.is_floating or target.is_complex:
        target = dtypes.uint16
    ratio = max(target.size // give.dtype.itemsize, 1)
    shape = draw(small_shapes)
    return Case([give.array((*shape, ratio) if ratio > 1 else shape)], {"type": target})


@st.composite
def checked(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    if row.name == "CheckNumerics":
        return Case([value], {"message": b"values"})
    sizes = [draw(st.sampled_from([size, None])) for size in value.shape]
    return Case([value], {"shape": tensor_shape.TensorShape(sizes)})


CASES: dict[str, Strategy] = {
    **dict.fromkeys(
        ("Identity", "StopGradient", "GuaranteeConst", "Shape", "Size", "Rank"), unary
    ),
    **dict.fromkeys(("CheckNumerics", "EnsureShape"), checked),
    "Reshape": reshape, "ExpandDims": expand_dims, "Squeeze": squeeze, "Bitcast": reinterpreted,
    "BroadcastTo": broadcast_to, "BroadcastArgs": gradient_args,
    "BroadcastGradientArgs": gradient_args,
    "Transpose": transpose, "ConjugateTranspose": transpose,
    "ConcatV2": concat, "ConcatOffset": concat_offset, "Pack": pack, "Unpack": unpack,
    "Split": split, "SplitV": split_v, "Tile": tile, "Pad": pad,
    "ReverseV2": reversal, "ReverseSequence": sequences, "Roll": rolled,
}  # fmt: skip
