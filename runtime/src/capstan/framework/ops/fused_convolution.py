"""Rows of convolutions that pad, and perhaps resize, their images first (core/ops/nn_ops.cc)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets, window_rules


def _padded(ctx: ShapeContext, image: tuple[int | None, ...], index: int) -> tuple[int | None, ...]:
    """Return the shape of images with the paddings that input `index` holds."""
    shapes.merge(ctx.inputs[index], (4, 2))
    paddings = ctx.constant(index)
    if paddings is None:
        return (None,) * 4
    return tuple(
        None if size is None else size + sum(pair)
        for size, pair in zip(image, paddings.tolist(), strict=True)
    )


def _convolved(
    ctx: ShapeContext, padded: tuple[int | None, ...], kernel: shapes.Shape
) -> rules.Shapes:
    height, width, depth, units = rules.with_rank(kernel, 4)
    window_rules.check_lists(ctx, "Operation requires", 4, "strides")
    shapes.merge_dimension(padded[3], depth)
    rows, columns = (
        window_rules.count(padded[axis], size, ctx.attrs["strides"][axis], 1, ctx.attrs["padding"])
        for axis, size in ((1, height), (2, width))
    )
    return ((padded[0], rows, columns, units),)


def _pad_shape(ctx: ShapeContext) -> rules.Shapes:
    image = rules.with_rank(ctx.inputs[0], 4)
    return _convolved(ctx, _padded(ctx, image, 1), ctx.inputs[2])


def _resize_shape(ctx: ShapeContext) -> rules.Shapes:
    batch, _, _, depth = rules.with_rank(ctx.inputs[0], 4)
    shapes.merge(ctx.inputs[1], (2,))
    size = rules.shape_in(ctx, 1)
    height, width = (None, None) if size is None else size
    return _convolved(ctx, _padded(ctx, (batch, height, width, depth), 2), ctx.inputs[3])


_ATTRS: dict[str, Any] = {"mode": bytes, "strides": list, "padding": bytes}
_CHOICES = {"mode": (b"REFLECT", b"SYMMETRIC"), "padding": (b"SAME", b"VALID")}

define(
    OpDef(
        "FusedPadConv2D",
        ("input: T", "paddings: int32", "filter: T"),
        ("output: T",),
        attrs=_ATTRS,
        shape=_pad_shape,
        choices=_CHOICES,
        types={"T": typesets.FLOATING},
    )
)
define(
    OpDef(
        "FusedResizeAndPadConv2D",
        ("input: T", "size: int32", "paddings: int32", "filter: T"),
        ("output: T",),
        attrs={"resize_align_corners": False, **_ATTRS},
        shape=_resize_shape,
        choices=_CHOICES,
        types={"T": (dtypes.float16, dtypes.float32, dtypes.float64)},
    )
)
