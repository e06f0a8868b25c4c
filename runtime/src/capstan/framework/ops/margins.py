"""Rows of the ops that add margins, and that move blocks of pixels (core/ops/array_ops.cc)."""

import math
from collections.abc import Callable
from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import layout, rules, typesets

_MODES = {"mode": (b"REFLECT", b"SYMMETRIC")}
_PADDINGS = {"Tpaddings": typesets.INDEX}


def _pad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, margins = op.inputs[:2]
    before, _ = raw.Unpack(margins, num=2, axis=1)
    size = raw.Shape(x, out_type=margins.dtype.base_dtype)
    return raw.Slice(grads[0], before, size), None, None


def _mirror(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.MirrorPadGrad(grads[0], op.inputs[1], mode=op.get_attr("mode")), None


def _mirror_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.MirrorPad(grads[0], op.inputs[1], mode=op.get_attr("mode")), None


def _unpadded(ctx: ShapeContext) -> rules.Shapes:
    shape, margins = ctx.inputs[0], ctx.constant(1)
    if shape is None or margins is None:
        return (shapes.unknown(shapes.rank(shape)),)
    sums = margins.sum(1).tolist()
    return (
        tuple(
            None if size is None else size - margin
            for size, margin in zip(shape, sums, strict=True)
        ),
    )


def _in_batch(ctx: ShapeContext) -> rules.Shapes:
    """The spatial sizes grow by the margins, and their blocks become examples."""
    return _blocks(
        ctx,
        "paddings",
        lambda batch, count: batch * count,
        lambda size, block, margin: _divided(size + margin, block),
    )


def _out_of_batch(ctx: ShapeContext) -> rules.Shapes:
    def cropped(size: int, block: int, margin: int) -> int:
        if margin > size * block:
            raise ValueError(
                f"Negative dimension size caused by subtracting {margin} from {size * block}"
            )
        return size * block - margin

    return _blocks(ctx, "crops", _divided, cropped)


def _blocks(
    ctx: ShapeContext,
    margin: str,
    batched: Callable[[int, int], int],
    resized: Callable[[int, int, int], int],
) -> rules.Shapes:
    """Return the shape of a tensor whose blocks move into the batch, or out of it.

    `margin` is the name of the argument of the margins.
    """
    shape, block, margins = ctx.inputs[0], ctx.constant(1), ctx.constant(2)
    (axes,) = rules.with_rank(ctx.inputs[1], 1)
    if shape is None or axes is None:
        return (shapes.unknown(shapes.rank(shape)),)
    shapes.with_rank_at_least(shape, axes + 1)
    shapes.merge(ctx.inputs[2], (axes, 2))
    if block is not None and (block < 1).any():
        raise ValueError("block_shape must be positive")
    if margins is not None and (margins < 0).any():
        raise ValueError(f"{margin} cannot be negative")
    batch = shape[0] if not axes else None
    if block is not None and shape[0] is not None:
        batch = batched(shape[0], math.prod(block.tolist()))
    spatial: list[int | None] = [None] * axes
    if block is not None and margins is not None:
        sums = margins.sum(1).tolist()
        spatial = [
            None if size is None else resized(size, factor, total)
            for size, factor, total in zip(shape[1:], block.tolist(), sums, strict=False)
        ]
    return ((batch, *spatial, *shape[1 + axes :]),)


def _to_batch(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.BatchToSpaceND(grads[0], op.inputs[1], op.inputs[2]), None, None


def _to_space(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.SpaceToBatchND(grads[0], op.inputs[1], op.inputs[2]), None, None


def _depth_shape(ctx: ShapeContext) -> rules.Shapes:
    return _image(ctx, _divided, lambda depth, block: depth * block**2)


def _space_shape(ctx: ShapeContext) -> rules.Shapes:
    return _image(
        ctx, lambda size, block: size * block, lambda depth, block: _divided(depth, block**2)
    )


def _divided(size: int, count: int) -> int:
    if size % count:
        raise ValueError(f"Dimension size must be evenly divisible by {count} but is {size}")
    return size // count


def _image(ctx: ShapeContext, resized: Any, deepened: Any) -> rules.Shapes:
    batch, height, width, depth = rules.with_rank(ctx.inputs[0], 4)
    block = ctx.attrs["block_size"]
    height, width = (None if size is None else resized(size, block) for size in (height, width))
    return ((batch, height, width, None if depth is None else deepened(depth, block)),)


def _depth(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.DepthToSpace(grads[0], block_size=op.get_attr("block_size")),)


def _space(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.SpaceToDepth(grads[0], block_size=op.get_attr("block_size")),)


define(
    OpDef(
        "PadV2",
        ("input: T", "paddings: Tpaddings", "constant_values: T"),
        ("output: T",),
        attrs={"Tpaddings": dtypes.int32},
        shape=layout.pad_shape,
        gradient=_pad,
        types=_PADDINGS,
        host=("paddings", "constant_values"),
    )
)
for _name, _shape, _gradient in (
    ("MirrorPad", layout.pad_shape, _mirror),
    ("MirrorPadGrad", _unpadded, _mirror_grad),
):
    define(
        OpDef(
            _name,
            ("input: T", "paddings: Tpaddings"),
            ("output: T",),
            attrs={"mode": bytes, "Tpaddings": dtypes.int32},
            shape=_shape,
            gradient=_gradient,
            types=_PADDINGS,
            choices=_MODES,
            host=("paddings",),
        )
    )
for _name, _margins, _type, _shape, _gradient in (
    ("SpaceToBatchND", "paddings", "Tpaddings", _in_batch, _to_batch),
    ("BatchToSpaceND", "crops", "Tcrops", _out_of_batch, _to_space),
):
    define(
        OpDef(
            _name,
            ("input: T", "block_shape: Tblock_shape", f"{_margins}: {_type}"),
            ("output: T",),
            attrs={"Tblock_shape": dtypes.int32, _type: dtypes.int32},
            shape=_shape,
            gradient=_gradient,
            types={"Tblock_shape": typesets.INDEX, _type: typesets.INDEX},
            host=("block_shape", _margins),
        )
    )
for _name, _shape, _gradient in (
    ("SpaceToDepth", _depth_shape, _depth),
    ("DepthToSpace", _space_shape, _space),
):
    define(
        OpDef(
            _name,
            ("input: T",),
            ("output: T",),
            attrs={"block_size": int, "data_format": b"NHWC"},
            minima={"block_size": 2},
            shape=_shape,
            gradient=_gradient,
            choices={"data_format": (b"NHWC", b"NCHW", b"NCHW_VECT_C")},
        )
    )
