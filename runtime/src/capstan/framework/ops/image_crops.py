"""Rows of the ops that cut boxes out of images (core/ops/image_ops.cc, python/ops/image_grad.py).

A box holds the numbers y_min, x_min, y_max and x_max, from 0 to 1.
"""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules

_GRADED = (dtypes.float16, dtypes.float32, dtypes.float64)
_PIXELS = (
    dtypes.uint8, dtypes.uint16, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, *_GRADED,
)  # fmt: skip


def _count(boxes: shapes.Shape, box_ind: shapes.Shape) -> int | None:
    """Return the number of boxes."""
    count, width = rules.with_rank(boxes, 2)
    shapes.merge_dimension(width, 4)
    return shapes.merge_dimension(count, rules.with_rank(box_ind, 1)[0])


def _crops(ctx: ShapeContext) -> rules.Shapes:
    channels = rules.with_rank(ctx.inputs[0], 4)[3]
    size = rules.shape_in(ctx, 3)
    height, width = (None, None) if size is None else size
    return ((_count(ctx.inputs[1], ctx.inputs[2]), height, width, channels),)


def _image_of_crops(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[0], 4)
    _count(ctx.inputs[1], ctx.inputs[2])
    return (shapes.with_rank(rules.shape_in(ctx, 3), 4),)


def _boxes_of_crops(ctx: ShapeContext) -> rules.Shapes:
    for index in (0, 1):
        rules.with_rank(ctx.inputs[index], 4)
    return ((_count(ctx.inputs[2], ctx.inputs[3]), 4),)


def _crop_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    image, boxes, box_ind, _ = op.inputs
    to_image = None
    if image.dtype.base_dtype in _GRADED:
        to_image = raw.CropAndResizeGradImage(
            grads[0],
            boxes,
            box_ind,
            raw.Shape(image),
            T=image.dtype.base_dtype,
            method=op.get_attr("method"),
        )
    # TensorFlow interpolates here also if the method of the crops is "nearest".
    to_boxes = raw.CropAndResizeGradBoxes(grads[0], image, boxes, box_ind)
    return to_image, to_boxes, None, None


_METHODS = {"method": (b"bilinear", b"nearest")}
define(
    OpDef(
        "CropAndResize",
        ("image: T", "boxes: float32", "box_ind: int32", "crop_size: int32"),
        ("crops: float32",),
        attrs={"method": b"bilinear", "extrapolation_value": 0.0},
        shape=_crops,
        gradient=_crop_grad,
        types={"T": _PIXELS},
        choices=_METHODS,
        host=("crop_size",),
    )
)
define(
    OpDef(
        "CropAndResizeGradImage",
        ("grads: float32", "boxes: float32", "box_ind: int32", "image_size: int32"),
        ("output: T",),
        attrs={"method": b"bilinear", "T": dtypes.DType},
        shape=_image_of_crops,
        types={"T": _GRADED},
        choices=_METHODS,
        host=("image_size",),
    )
)
define(
    OpDef(
        "CropAndResizeGradBoxes",
        ("grads: float32", "image: T", "boxes: float32", "box_ind: int32"),
        ("output: float32",),
        attrs={"method": b"bilinear"},
        shape=_boxes_of_crops,
        types={"T": _PIXELS},
        choices={"method": (b"bilinear",)},
    )
)
