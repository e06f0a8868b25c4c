"""Rows of ops that join and split tensors along an axis (core/ops/array_ops.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, typesets


def _concat_shape(ctx: ShapeContext) -> rules.Shapes:
    *parts, axis_shape = ctx.inputs
    shapes.with_rank(axis_shape, 0)
    axis = ctx.constant(len(parts))
    rank = next((len(part) for part in parts if part is not None), None)
    if rank is None:
        return (None,)
    if axis is None:
        if rank == 0:
            raise ValueError("Can't concatenate scalars (use tf.stack instead)")
        for part in parts:
            shapes.with_rank(part, rank)
        return (shapes.unknown(rank),)
    for part in parts:
        shapes.with_rank_at_least(part, int(axis) + 1 if axis >= 0 else -int(axis))
    at = shapes.axis_index(int(axis), rank)
    total: int | None = 0
    known: shapes.Shape = shapes.unknown(rank)
    for part in parts:
        full = rules.with_rank(part, rank)
        size = full[at]
        total = None if total is None or size is None else total + size
        known = shapes.merge(known, (*full[:at], None, *full[at + 1 :]))
    sizes = rules.with_rank(known, rank)
    return ((*sizes[:at], total, *sizes[at + 1 :]),)


def _concat(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (*parts, axis) = grads, op.inputs
    sizes = [raw.Shape(part) for part in parts]
    axis = raw.FloorMod(raw.Cast(axis, DstT=dtypes.int32), raw.Rank(parts[0]))
    offsets = raw.ConcatOffset(axis, sizes)
    pieces = [raw.Slice(grad, at, size) for at, size in zip(offsets, sizes, strict=True)]
    return [*pieces, None]


def _concat_offset_shape(ctx: ShapeContext) -> rules.Shapes:
    return tuple(ctx.inputs[1:])


def _pack_shape(ctx: ShapeContext) -> rules.Shapes:
    known: shapes.Shape = None
    for part in ctx.inputs:
        known = shapes.merge(known, part)
    if known is None:
        return (None,)
    at = shapes.axis_index(ctx.attrs["axis"], len(known) + 1)
    return ((*known[:at], len(ctx.inputs), *known[at:]),)


def _pack(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    count, axis = op.get_attr("N"), op.get_attr("axis")
    parts: list[Any] = raw.Unpack(grads[0], num=count, axis=axis)
    return parts


def _unpack_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = ctx.inputs[0]
    count: int = ctx.attrs["num"]
    if shape is None:
        return (None,) * count
    at = shapes.axis_index(ctx.attrs["axis"], len(shape))
    if shape[at] not in (None, count):
        raise ValueError(f"Dimension must be {count} but is {shape[at]}")
    return (shape[:at] + shape[at + 1 :],) * count


def _all_given(op: Op, grads: Gradients, raw: Raw) -> list[Any]:
    return [
        raw.ZerosLike(output) if grad is None else grad
        for output, grad in zip(op.outputs, grads, strict=True)
    ]


def _unpack(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Pack(_all_given(op, grads, raw), axis=op.get_attr("axis")),)


def _split_shape(ctx: ShapeContext) -> rules.Shapes:
    axis, shape = ctx.constant(0), ctx.inputs[1]
    count: int = ctx.attrs["num_split"]
    if shape is None or axis is None:
        return (shapes.unknown(shapes.rank(shape)),) * count
    at = shapes.axis_index(_scalar(axis), len(shape))
    size = shape[at]
    if size is not None and size % count:
        raise ValueError(
            f"Dimension size must be evenly divisible by {count} but is {size}: "
            f"number of ways to split should evenly divide the split dimension"
        )
    part = None if size is None else size // count
    return ((*shape[:at], part, *shape[at + 1 :]),) * count


def _scalar(axis: Array) -> int:
    if axis.ndim:
        raise ValueError(f"Input must be scalar but has rank {axis.ndim}")
    return int(axis)


def _split(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return None, _concatenated(_all_given(op, grads, raw), op.inputs[0], raw)


def _split_v_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, sizes, axis = ctx.inputs[0], ctx.constant(1), ctx.constant(2)
    count: int = ctx.attrs["num_split"]
    if shape is None or axis is None:
        return (shapes.unknown(shapes.rank(shape)),) * count
    at = shapes.axis_index(_scalar(axis), len(shape))
    parts = [-1] * count if sizes is None else sizes.ravel().tolist()
    full_size, total = shape[at], sum(part for part in parts if part >= 0)
    if full_size is not None and parts.count(-1) == 1:
        parts = [full_size - total if part < 0 else part for part in parts]
    elif full_size is not None and -1 not in parts and total != full_size:
        raise ValueError(f"Sum of output sizes must match the size {full_size}, got {total}")
    return tuple((*shape[:at], None if part < 0 else part, *shape[at + 1 :]) for part in parts)


def _split_v(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _concatenated(_all_given(op, grads, raw), op.inputs[2], raw), None, None


def _concatenated(parts: Sequence[Any], axis: Any, raw: Raw) -> Any:
    return raw.ConcatV2(parts, axis) if len(parts) > 1 else parts[0]


def _concat_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    return None if values is None else np.concatenate(values[:-1], axis=int(values[-1]))


def _pack_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    return None if values is None else np.stack(values, axis=ctx.attrs.get("axis", 0))


def _concat_sizes(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    """Return the elements of joined vectors. Only vectors can have known elements."""
    found: list[int | None] = []
    for index in range(len(ctx.input_shapes) - 1):
        part = ctx.sizes_of(index)
        if part is None or len(ctx.input_shapes[index] or ()) != 1:
            return None
        found += part
    return tuple(found)


def _pack_sizes(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    """Return the elements of packed tensors. All inputs are scalars if one of them is."""
    are_scalars = () in ctx.input_shapes
    if ctx.attrs.get("axis", 0) != 0 and not are_scalars:
        return None
    given = [ctx.sizes_of(index) for index in range(len(ctx.input_shapes))]
    count = 1 if are_scalars else next((len(part) for part in given if part), None)
    if count is None:
        return None
    return tuple(size for part in given for size in part or (None,) * count)


def _unpack_sizes(ctx: facts.SizesContext, index: int) -> shapes.Shape:
    """Return an element of a vector."""
    sizes = ctx.sizes_of(0)
    return (
        None if sizes is None or len(ctx.input_shapes[0] or ()) != 1 else sizes[index : index + 1]
    )


def _parallel_concat_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = ctx.attrs["shape"].internal
    if shape is None or None in shape:
        raise ValueError("shape attr must be fully defined.")
    part: shapes.Shape = (1, *shape[1:])
    for given in ctx.inputs:
        if given is None or None in given:
            raise ValueError("All input shapes must be fully defined.")
        part = shapes.merge(part, given)
    return (shape,)


define(
    OpDef(
        "ConcatV2",
        ("values: N * T", "axis: Tidx"),
        ("output: T",),
        attrs={"Tidx": dtypes.int32},
        minima={"N": 2},
        shape=handles.moved(_concat_shape, slice(-1)),
        gradient=_concat,
        types={"Tidx": typesets.INDEX},
        value=_concat_value,
        sizes=_concat_sizes,
        host=("axis",),
    )
)
define(
    OpDef(
        "ConcatOffset",
        ("concat_dim: int32", "shape: N * int32"),
        ("offset: N * int32",),
        shape=_concat_offset_shape,
        not_differentiable=True,
        host=("concat_dim", "shape", "offset"),
    )
)
define(
    OpDef(
        "Pack",
        ("values: N * T",),
        ("output: T",),
        attrs={"axis": 0},
        shape=handles.moved(_pack_shape, handles.ALL),
        gradient=_pack,
        value=_pack_value,
        sizes=_pack_sizes,
    )
)
define(
    OpDef(
        "Unpack",
        ("value: T",),
        ("output: num * T",),
        attrs={"num": int, "axis": 0},
        minima={"num": 0},
        shape=handles.moved(_unpack_shape),
        sizes=_unpack_sizes,
        gradient=_unpack,
    )
)
define(
    OpDef(
        "Split",
        ("split_dim: int32", "value: T"),
        ("output: num_split * T",),
        attrs={"num_split": int},
        minima={"num_split": 1},
        shape=handles.moved(_split_shape, slice(1, 2)),
        gradient=_split,
        host=("split_dim",),
    )
)
define(
    OpDef(
        "SplitV",
        ("value: T", "size_splits: Tlen", "split_dim: int32"),
        ("output: num_split * T",),
        attrs={"num_split": int, "Tlen": dtypes.int64},
        minima={"num_split": 1},
        shape=handles.moved(_split_v_shape),
        gradient=_split_v,
        types={"Tlen": typesets.INDEX},
        host=("size_splits", "split_dim"),
    )
)
define(
    OpDef(
        "ParallelConcat",
        ("values: N * T",),
        ("output: T",),
        attrs={"shape": tensor_shape.TensorShape},
        minima={"N": 1},
        shape=_parallel_concat_shape,
    )
)
