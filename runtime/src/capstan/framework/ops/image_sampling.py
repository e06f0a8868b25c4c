"""Rows of the ops that sample images at computed places (core/ops/image_ops.cc)."""

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_SAMPLED = (
    dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64,
    *typesets.FLOATING,
)  # fmt: skip
_TRANSFORMED = (dtypes.uint8, dtypes.int32, dtypes.int64, *typesets.FLOATING)
_SAMPLING = {"kernel_type": b"lanczos3", "antialias": True}


def _sized(ctx: ShapeContext, size: shapes.Shape) -> rules.Shapes:
    batch, _, _, channels = rules.with_rank(ctx.inputs[0], 4)
    height, width = rules.with_rank(size, 2) if size is None else size
    return ((batch, height, width, channels),)


def _size_in(ctx: ShapeContext, index: int) -> shapes.Shape:
    """Return the height and the width that input `index` holds."""
    shapes.merge(ctx.inputs[index], (2,))
    size = rules.shape_in(ctx, index)
    return (None, None) if size is None else size


def _scaled(ctx: ShapeContext) -> rules.Shapes:
    for index in (2, 3):
        shapes.merge(ctx.inputs[index], (2,))
    return _sized(ctx, _size_in(ctx, 1))


def _scaled_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    images, _, scale, translation = op.inputs
    attrs = {name: op.get_attr(name) for name in _SAMPLING}
    slope = raw.ScaleAndTranslateGrad(grads[0], images, scale, translation, **attrs)
    return slope, None, None, None


def _of_images(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[1], 4),)


def _transformed(ctx: ShapeContext) -> rules.Shapes:
    rows = ctx.inputs[1]
    if rows is not None:
        shapes.merge_dimension(rules.with_rank(rows, 2)[1], 8)
    return _sized(ctx, _size_in(ctx, 2))


def _transformed_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Transform the gradient back: by the inverse of the matrix of each transform."""
    images, transforms = op.inputs[:2]
    count = raw.StridedSlice(raw.Shape(transforms), [0], [1], [1], shrink_axis_mask=1)
    ones = raw.Fill(raw.Pack([count, np.int32(1)]), np.float32(1))
    matrices = raw.Reshape(raw.ConcatV2([transforms, ones], 1), [-1, 3, 3])
    inverse = raw.Reshape(raw.MatrixInverse(matrices), [-1, 9])
    flat = raw.RealDiv(inverse, raw.Slice(inverse, [0, 8], [-1, 1]))
    back = raw.Slice(flat, [0, 0], [-1, 8])
    size = raw.Slice(raw.Shape(images), [1], [2])
    attrs = {name: op.get_attr(name) for name in ("interpolation", "fill_mode")}
    if op.type == "ImageProjectiveTransformV2":
        return raw.ImageProjectiveTransformV2(grads[0], back, size, **attrs), None, None
    slope = raw.ImageProjectiveTransformV3(grads[0], back, size, np.float32(0), **attrs)
    return slope, None, None, None


define(
    OpDef(
        "ScaleAndTranslate",
        ("images: T", "size: int32", "scale: float32", "translation: float32"),
        ("resized_images: float32",),
        attrs=_SAMPLING,
        shape=_scaled,
        gradient=_scaled_gradient,
        types={"T": _SAMPLED},
    )
)
define(
    OpDef(
        "ScaleAndTranslateGrad",
        ("grads: T", "original_image: T", "scale: float32", "translation: float32"),
        ("output: T",),
        attrs=_SAMPLING,
        shape=_of_images,
        types={"T": (dtypes.float32,)},
    )
)
for _version, _fill in (("V2", ()), ("V3", ("fill_value: float32",))):
    define(
        OpDef(
            f"ImageProjectiveTransform{_version}",
            ("images: dtype", "transforms: float32", "output_shape: int32", *_fill),
            ("transformed_images: dtype",),
            attrs={"interpolation": bytes, "fill_mode": b"CONSTANT"},
            shape=_transformed,
            gradient=_transformed_gradient,
            types={"dtype": _TRANSFORMED},
        )
    )
