"""Rows of ops that repeat, pad and permute tensors along axes."""

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, typesets


def _transpose_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, order = ctx.inputs[0], ctx.constant(1)
    if shape is None:
        return (rules.shape_in(ctx, 1) if order is None else shapes.unknown(order.size),)
    if order is None:
        return (shapes.unknown(len(shape)),)
    axes = [shapes.axis_index(axis, len(shape)) for axis in order.ravel().tolist()]
    if sorted(axes) != list(range(len(shape))):
        raise ValueError(f"perm {order.tolist()} is not a permutation of {len(shape)} axes")
    return (tuple(shape[axis] for axis in axes),)


def _transpose(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return getattr(raw, op.type)(grads[0], raw.InvertPermutation(op.inputs[1])), None


def _tile_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, repeats = ctx.inputs[0], rules.shape_in(ctx, 1)
    if shape is None or repeats is None:
        return (shapes.unknown(shapes.rank(repeats if shape is None else shape)),)
    if len(repeats) != len(shape):
        raise ValueError(f"Shape must be rank {len(repeats)} but is rank {len(shape)}")
    return (
        tuple(
            0 if count == 0 else None if size is None or count is None else size * count
            for size, count in zip(shape, repeats, strict=True)
        ),
    )


def _tile(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # Split every axis into (repeats, size) and sum over the repeats.
    (grad,), (x, repeats) = grads, op.inputs
    sizes = raw.Shape(x, out_type=repeats.dtype.base_dtype)
    pairs = raw.Reshape(raw.Transpose(raw.Pack([repeats, sizes]), [1, 0]), [-1])
    axes = raw.Range(np.int32(0), raw.Size(pairs), np.int32(2))
    return raw.Sum(raw.Reshape(grad, pairs), axes), None


def pad_shape(ctx: ShapeContext) -> rules.Shapes:
    """The sizes grow by the margins of input 1."""
    shape, value = ctx.inputs[0], ctx.constant(1)
    margins = ctx.sizes_of(1) if value is None else tuple(value.ravel().tolist())
    if shape is None or margins is None:
        known = ctx.inputs[1]
        rank = known[0] if shape is None and known else shapes.rank(shape)
        return (shapes.unknown(rank),)
    if len(margins) != 2 * len(shape):
        raise ValueError(f"Shape must be rank {len(margins) // 2} but is rank {len(shape)}")
    if value is not None and (value < 0).any():
        raise ValueError("Paddings must be non-negative")
    parts = zip(shape, margins[::2], margins[1::2], strict=True)
    return (tuple(None if None in part else sum(part) for part in parts),)  # type: ignore[arg-type]


def _pad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, margins = op.inputs
    before, _ = raw.Unpack(margins, num=2, axis=1)
    return raw.Slice(grads[0], before, raw.Shape(x, out_type=margins.dtype.base_dtype)), None


def _keeps_axes(ctx: facts.ValueContext, output: shapes.Shape) -> bool:
    axes = ctx.value_of(1)
    if axes is None or ctx.input_shapes[0] is None:
        return False
    kept: bool = axes.tolist() == list(range(axes.size))
    return kept


for _name in ("Transpose", "ConjugateTranspose"):
    define(
        OpDef(
            _name,
            ("x: T", "perm: Tperm"),
            ("y: T",),
            attrs={"Tperm": dtypes.int32},
            shape=_transpose_shape,
            copies=_keeps_axes if _name == "Transpose" else None,
            gradient=_transpose,
            types={"Tperm": typesets.INDEX},
            host=("perm",),
        )
    )
define(
    OpDef(
        "Tile",
        ("input: T", "multiples: Tmultiples"),
        ("output: T",),
        attrs={"Tmultiples": dtypes.int32},
        shape=handles.moved(_tile_shape),
        copies=rules.copies_same_shape,
        gradient=_tile,
        types={"Tmultiples": typesets.INDEX},
        host=("multiples",),
    )
)
define(
    OpDef(
        "Pad",
        ("input: T", "paddings: Tpaddings"),
        ("output: T",),
        attrs={"Tpaddings": dtypes.int32},
        shape=pad_shape,
        copies=rules.copies_same_shape,
        gradient=_pad,
        types={"Tpaddings": typesets.INDEX},
        host=("paddings",),
    )
)
