"""The rules by which ops on shapes and axes compute all iterations of a loop at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.framework.ops import stacked
from capstan.framework.ops.stacked import Loop, Operand, Operands, define


def _are_plain(operands: Operands) -> bool:
    return not any(operand.is_stacked for operand in operands)


def _axis_in(place: int, more: int = 0) -> stacked.Rule:
    """Return the rule of an op with the axes in input `place`, and other inputs of one rank.

    The result of the op has `more` axes than these inputs.
    """

    def rule(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
        place_of = place % len(operands)
        if operands[place_of].is_stacked:
            return None
        places = place_of, int(place_of == 0)
        tensors = [
            stacked.next_axes(loop, op, operands, places, more)
            if index == place_of
            else stacked.on_top(loop, operand)
            for index, operand in enumerate(operands)
        ]
        return stacked.stacked(loop.again(op, tensors))

    return rule


def _split_sizes(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    if not _are_plain(operands[1:]):
        return None
    axis = stacked.next_axes(loop, op, operands, (2, 0))
    return stacked.stacked(loop.again(op, [operands[0].tensor, operands[1].tensor, axis]))


def _axis_attribute(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    axis = stacked.next_axis(op.get_attr("axis"), op.inputs[0].shape.ndims)
    if axis is None:
        return None
    tensors = [stacked.on_top(loop, operand) for operand in operands]
    return stacked.stacked(loop.again(op, tensors, axis=axis))


def _one_hot(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    if not _are_plain(operands[1:]):
        return None
    tensors, axis = [operand.tensor for operand in operands], op.get_attr("axis")
    return stacked.stacked(loop.again(op, tensors, axis=axis + (axis >= 0)))  # -1 is the least


def _squeeze(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    axes = list(op.get_attr("squeeze_dims"))
    if not axes:
        shape = op.inputs[0].shape
        if not shape.is_fully_defined():
            return None
        axes = [axis for axis, size in enumerate(shape.as_list()) if size == 1]
    if not axes:  # an empty list would stand for all axes
        return [operands[0]]
    next_axes = [stacked.next_axis(axis, op.inputs[0].shape.ndims) for axis in axes]
    if None in next_axes:
        return None
    return stacked.stacked(loop.again(op, [operands[0].tensor], squeeze_dims=next_axes))


def _shape(loop: Loop, op: Any, operands: Operands) -> list[Operand]:
    outputs = loop.again(op, [operand.tensor for operand in operands])
    return [
        Operand(stacked.from_axis(loop, each, int(operand.is_stacked)), False)
        for each, operand in zip(outputs, operands, strict=True)
    ]


def _rank(loop: Loop, op: Any, operands: Operands) -> list[Operand]:
    (rank,) = loop.again(op, [operands[0].tensor])
    return [Operand(loop.raw.Sub(rank, 1), False)]


def _size(loop: Loop, op: Any, operands: Operands) -> list[Operand]:
    shape = loop.raw.Shape(operands[0].tensor, out_type=op.outputs[0].dtype)
    return [Operand(loop.raw.Prod(stacked.from_axis(loop, shape, 1), [0]), False)]


def _with_shape(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """`Reshape`, and draws of random numbers: one input is the shape of an iteration."""
    place = 1 if op.type == "Reshape" else 0
    bounds = [] if op.type == "Reshape" else operands[1:]
    if not _are_plain([operands[place], *bounds]):
        return None
    tensors = [operand.tensor for operand in operands]
    tensors[place] = stacked.joined(loop, [loop.count], tensors[place])
    return stacked.stacked(loop.again(op, tensors))


def _broadcast_to(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    rank, size = op.inputs[0].shape.ndims, op.inputs[1].shape.with_rank(1).as_list()[0]
    if operands[1].is_stacked or rank is None or size is None:
        return None
    shape = stacked.joined(loop, [loop.count], operands[1].tensor)
    tensor = stacked.of_rank(loop, operands[0], rank, size)
    return stacked.stacked([loop.raw.BroadcastTo(tensor, shape)])


def _fill(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    size = op.inputs[0].shape.with_rank(1).as_list()[0]
    if operands[0].is_stacked or size is None:
        return None
    shape = stacked.joined(loop, [loop.count], operands[0].tensor)
    tensor = stacked.of_rank(loop, operands[1], 0, size)
    return stacked.stacked([loop.raw.BroadcastTo(tensor, shape)])


def _transpose(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    if operands[1].is_stacked:
        return None
    axes = loop.raw.Add(operands[1].tensor, 1)
    tensors = [operands[0].tensor, stacked.joined(loop, [0], axes)]
    return stacked.stacked(loop.again(op, tensors))


def _prefixed(*firsts: int) -> stacked.Rule:
    """Return the rule of an op with a vector for all axes in each input after the first.

    `firsts` are the elements of these vectors for the axis of the iterations.
    """

    def rule(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
        vectors = operands[1:]
        if not _are_plain(vectors):
            return None
        tensors = [
            stacked.joined(loop, [first], vector.tensor)
            for first, vector in zip(firsts, vectors, strict=True)
        ]
        return stacked.stacked(loop.again(op, [operands[0].tensor, *tensors]))

    return rule


_slices = _prefixed(0, -1)


def _slice(loop: Loop, op: Any, operands: Operands) -> Sequence[Operand] | None:
    if not operands[1].is_stacked:
        return _slices(loop, op, operands)
    sizes = op.inputs[2].op.constant_value()
    if sizes is None or operands[2].is_stacked or (sizes < 1).any() or not sizes.size:
        return None
    if op.inputs[0].shape.ndims is None:
        return None
    raw = loop.raw
    result, begins = stacked.on_top(loop, operands[0]), operands[1].tensor
    full = [size == known for size, known in zip(sizes, op.inputs[0].shape.as_list(), strict=True)]
    cut = [axis for axis, is_full in enumerate(full) if not is_full] or [0]
    bounds = raw.Cast(stacked.from_axis(loop, raw.Shape(result), 1), DstT=begins.dtype)
    is_outside = raw.LogicalOr(raw.Less(begins, 0), raw.Greater(raw.Add(begins, sizes), bounds))
    is_outside = raw.Any(is_outside, [1], keep_dims=True)
    for axis in cut:
        begin = raw.Slice(begins, [0, axis], [-1, 1])
        places = raw.Add(begin, np.arange(sizes[axis], dtype=sizes.dtype))
        if axis == cut[0]:  # the gather checks this axis alone
            places = raw.SelectV2(is_outside, np.array(-1, sizes.dtype), places)
        result = raw.GatherV2(result, places, axis + 1, batch_dims=1)
    return stacked.stacked([result])


def _pad(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    if not _are_plain(operands[1:]):
        return None
    raw, (tensor, paddings, *rest) = loop.raw, operands
    none = np.zeros((1, 2), paddings.tensor.dtype.as_numpy_dtype)
    widths = raw.ConcatV2([none, paddings.tensor], 0)
    return stacked.stacked(loop.again(op, [tensor.tensor, widths, *(r.tensor for r in rest)]))


def _strided(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """`StridedSlice` and its gradient: the iterations are one more axis, taken as a whole."""
    is_grad = op.type == "StridedSliceGrad"
    bounds, tensor = (operands[:-1], operands[-1]) if is_grad else (operands[1:], operands[0])
    if not _are_plain(bounds):
        return None
    firsts = [loop.count, 0, 0, 1] if is_grad else [0, 0, 1]
    inputs = [
        stacked.joined(loop, [first], each.tensor)
        for first, each in zip(firsts, bounds, strict=True)
    ]
    masks = {
        f"{name}_mask": (op.get_attr(f"{name}_mask") << 1) | bit
        for name, bit in (
            ("begin", 1),
            ("end", 1),
            ("ellipsis", 0),
            ("new_axis", 0),
            ("shrink_axis", 0),
        )
    }
    inputs = [*inputs, tensor.tensor] if is_grad else [tensor.tensor, *inputs]
    return stacked.stacked(loop.again(op, inputs, **masks))


def _gather(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    params, indices, *axes = operands
    axis = op.inputs[2].op.constant_value() if axes else np.array(0)
    if axis is None or (axes and op.get_attr("batch_dims")):
        return None
    raw = loop.raw
    if not params.is_stacked:
        if axis != 0:
            return None
        return stacked.stacked([raw.GatherV2(params.tensor, indices.tensor, 0)])
    if not indices.is_stacked:
        axis = stacked.next_axis(int(axis), op.inputs[0].shape.ndims)
        if axis is None:
            return None
        return stacked.stacked([raw.GatherV2(params.tensor, indices.tensor, axis)])
    if axis < 0:
        return None
    axis = int(axis) + 1
    return stacked.stacked([raw.GatherV2(params.tensor, indices.tensor, axis, batch_dims=1)])


def _select(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    condition, *others = operands
    ranks = [tensor.shape.ndims for tensor in op.inputs[:2]]
    if None in ranks:
        return None
    tensors = [stacked.on_top(loop, operand) for operand in others]
    first = stacked.on_top(loop, condition)
    if ranks[0] and ranks[0] != ranks[1]:
        # A vector chooses rows. `Select` has no form for the rows of several iterations. It checks
        # that the others have one shape, and `SelectV2` would broadcast them.
        shape = loop.raw.Shape(first)
        ones = np.ones(ranks[1] - ranks[0], np.int32)
        shaped = loop.raw.Reshape(first, loop.raw.ConcatV2([shape, ones], 0))
        first = loop.raw.BroadcastTo(shaped, loop.raw.Shape(tensors[0]))
    return stacked.stacked(loop.again(op, [first, *tensors]))


for _names, _rule in (
    (("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm"), _axis_in(1)),
    (("ArgMax", "ArgMin", "Cumsum", "Cumprod", "ReverseV2"), _axis_in(1)),
    (("ExpandDims",), _axis_in(1, more=1)),
    (("ConcatV2",), _axis_in(-1)),
    (("Split",), _axis_in(0)),
    (("SplitV",), _split_sizes),
    (("Pack", "Unpack"), _axis_attribute),
    (("OneHot",), _one_hot),
    (("Squeeze",), _squeeze),
    (("Shape", "ShapeN"), _shape),
    (("Rank",), _rank),
    (("Size",), _size),
    (("Reshape",), _with_shape),
    (("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"), _with_shape),
    (("BroadcastTo",), _broadcast_to),
    (("Fill",), _fill),
    (("Transpose", "ConjugateTranspose"), _transpose),
    (("Tile",), _prefixed(1)),
    (("Slice",), _slice),
    (("Pad", "PadV2", "MirrorPad"), _pad),
    (("StridedSlice", "StridedSliceGrad"), _strided),
    (("Gather", "GatherV2"), _gather),
    (("Select",), _select),
):
    define(_rule, *_names)
