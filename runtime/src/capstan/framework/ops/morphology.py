"""Rows of the ops that dilate images or take them apart in patches (core/ops/nn_ops.cc,
array_ops.cc, python/ops/nn_grad.py, array_grad.py).
"""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, window_rules

_CHOICES = {"padding": (b"SAME", b"VALID")}
_DILATION: dict[str, Any] = {"strides": list, "rates": list, "padding": bytes}
_NUMBERS = {"T": typesets.NUMERIC}


def _count(ctx: ShapeContext, axis: int, size: int | None, width: int | None) -> int | None:
    """Return the number of windows over an axis of images, or None if it is unknown."""
    stride, rate = ctx.attrs["strides"][axis], ctx.attrs["rates"][axis]
    return window_rules.count(size, width, stride, rate, ctx.attrs["padding"])


def _dilated(ctx: ShapeContext) -> rules.Shapes:
    batch, height, width, depth = rules.with_rank(ctx.inputs[0], 4)
    rows, columns, channels = rules.with_rank(ctx.inputs[1], 3)
    window_rules.check_lists(ctx, "Dilation2D requires", 4, "strides", "rates")
    depth = shapes.merge_dimension(depth, channels)
    return ((batch, _count(ctx, 1, height, rows), _count(ctx, 2, width, columns), depth),)


def _dilation(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    same = {name: op.get_attr(name) for name in _DILATION}
    return (
        raw.Dilation2DBackpropInput(*op.inputs, grads[0], **same),
        raw.Dilation2DBackpropFilter(*op.inputs, grads[0], **same),
    )


def _patched(ctx: ShapeContext) -> rules.Shapes:
    batch, height, width, depth = rules.with_rank(ctx.inputs[0], 4)
    lists = ("ksizes", "strides", "rates")
    window_rules.check_lists(ctx, "ExtractImagePatches requires", 4, *lists)
    _, rows, columns, _ = ctx.attrs["ksizes"]
    depth = None if depth is None else depth * rows * columns
    return ((batch, _count(ctx, 1, height, rows), _count(ctx, 2, width, columns), depth),)


def _patches(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Put the patches together again, by a transposed convolution for each channel.

    Element i of a patch has a filter of its own, which is 1 at the place of the element.
    """
    _, patch_height, patch_width, _ = op.get_attr("ksizes")
    (images,), (grad,) = op.inputs, grads
    dtype = images.dtype.base_dtype
    size = raw.Shape(images)
    batch, height, width, depth = raw.Unpack(size, num=4, axis=0)
    _, rows, columns, _ = raw.Unpack(raw.Shape(grad), num=4, axis=0)
    count = patch_height * patch_width
    elements = raw.Reshape(grad, raw.Pack([batch, rows, columns, np.int32(count), depth]))
    planes = raw.Mul(batch, depth)
    slopes = raw.Reshape(
        raw.Transpose(elements, [0, 4, 1, 2, 3]), raw.Pack([planes, rows, columns, np.int32(count)])
    )
    filters = (
        np.eye(count).reshape(patch_height, patch_width, 1, count).astype(dtype.as_numpy_dtype)
    )
    images_by_channel = raw.Conv2DBackpropInput(
        raw.Pack([planes, height, width, np.int32(1)]),
        filters,
        slopes,
        strides=op.get_attr("strides"),
        dilations=op.get_attr("rates"),
        padding=op.get_attr("padding"),
    )
    channels = raw.Reshape(images_by_channel, raw.Pack([batch, depth, height, width]))
    return (raw.Transpose(channels, [0, 2, 3, 1]),)


define(
    OpDef(
        "Dilation2D",
        ("input: T", "filter: T"),
        ("output: T",),
        attrs=_DILATION,
        choices=_CHOICES,
        shape=_dilated,
        gradient=_dilation,
        types=_NUMBERS,
    )
)
for _name, _output, _index in (("Input", "in_backprop", 0), ("Filter", "filter_backprop", 1)):
    define(
        OpDef(
            f"Dilation2DBackprop{_name}",
            ("input: T", "filter: T", "out_backprop: T"),
            (f"{_output}: T",),
            attrs=_DILATION,
            choices=_CHOICES,
            shape=lambda ctx, index=_index: (ctx.inputs[index],),  # type: ignore[misc]
            types=_NUMBERS,
        )
    )
define(
    OpDef(
        "ExtractImagePatches",
        ("images: T",),
        ("patches: T",),
        attrs={"ksizes": list, "strides": list, "rates": list, "padding": bytes},
        choices=_CHOICES,
        shape=_patched,
        gradient=_patches,
        types=_NUMBERS,
    )
)
