"""Rows of the ops that choose boxes that do not overlap much (core/ops/image_ops.cc).

A box holds the coordinates of two opposite corners: y1, x1, y2 and x2.
"""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

_FLOATS = (dtypes.float16, dtypes.float32)


def _check(ctx: ShapeContext, count: int) -> None:
    """Check the shapes of boxes and scores, and of `count` scalars after them."""
    boxes = rules.with_rank(ctx.inputs[0], 2)
    shapes.merge_dimension(boxes[0], rules.with_rank(ctx.inputs[1], 1)[0])
    shapes.merge_dimension(boxes[1], 4)
    for index in range(2, 2 + count):
        shapes.with_rank(ctx.inputs[index], 0)


def _chosen(ctx: ShapeContext) -> rules.Shapes:
    _check(ctx, len(ctx.inputs) - 2)
    return ((None,),)


def _of_overlaps(ctx: ShapeContext) -> rules.Shapes:
    rows, columns = rules.with_rank(ctx.inputs[0], 2)
    count = shapes.merge_dimension(rows, columns)
    shapes.merge_dimension(count, rules.with_rank(ctx.inputs[1], 1)[0])
    for shape in ctx.inputs[2:]:
        shapes.with_rank(shape, 0)
    return ((None,),)


def _padded_count(ctx: ShapeContext) -> int | None:
    limit = ctx.constant(2)
    return int(limit) if limit is not None and ctx.attrs["pad_to_max_output_size"] else None


def _padded(ctx: ShapeContext) -> rules.Shapes:
    _check(ctx, len(ctx.inputs) - 2)
    return ((_padded_count(ctx),), ())


def _scored(ctx: ShapeContext) -> rules.Shapes:
    _check(ctx, len(ctx.inputs) - 2)
    count = _padded_count(ctx)
    return ((count,), (count,), ())


def _combined(ctx: ShapeContext) -> rules.Shapes:
    batch, boxes, kinds, width = rules.with_rank(ctx.inputs[0], 4)
    scores = rules.with_rank(ctx.inputs[1], 3)
    if kinds is not None and scores[2] is not None and kinds not in (1, scores[2]):
        raise ValueError(
            f"third dimension of boxes must be either 1 or the number of classes, {scores[2]}, got "
            f"{kinds}"
        )
    shapes.merge_dimension(width, 4)
    shapes.merge_dimension(boxes, scores[1])
    batch = shapes.merge_dimension(batch, scores[0])
    for shape in ctx.inputs[2:]:
        shapes.with_rank(shape, 0)
    each, total = ctx.constant(2), ctx.constant(3)
    count = None if total is None else int(total)
    if count is not None and count <= 0:
        raise ValueError(f"max_total_size must be > 0, got {count}")
    if ctx.attrs["pad_per_class"] and each is not None and each <= 0:
        raise ValueError(f"max_output_size_per_class must be > 0, got {each}")
    if ctx.attrs["pad_per_class"] and count is not None:
        known = each is not None and scores[2] is not None
        count = min(count, int(each) * scores[2]) if known else None  # type: ignore[arg-type, operator]  # both are known
    return ((batch, count, 4), (batch, count), (batch, count), (batch,))


def _define(name: str, inputs: tuple[str, ...], shape: ShapeRule, **more: Any) -> None:
    outputs = more.pop("outputs", ("selected_indices: int32",))
    define(OpDef(name, inputs, outputs, shape=shape, not_differentiable=True, **more))


_LIMIT = "max_output_size: int32"
_BOXES = ("boxes: T", "scores: T", _LIMIT)
_THRESHOLDS = ("iou_threshold: T_threshold", "score_threshold: T_threshold")
_TYPES: dict[str, Any] = {
    "attrs": {"T": dtypes.float32, "T_threshold": dtypes.float32},
    "types": {"T": _FLOATS, "T_threshold": _FLOATS},
}
_PADS = {"pad_to_max_output_size": False}
_define(
    "NonMaxSuppression",
    ("boxes: float32", "scores: float32", _LIMIT),
    _chosen,
    attrs={"iou_threshold": 0.5},
)
_define("NonMaxSuppressionV2", (*_BOXES, _THRESHOLDS[0]), _chosen, **_TYPES)
_define("NonMaxSuppressionV3", (*_BOXES, *_THRESHOLDS), _chosen, **_TYPES)
_define(
    "NonMaxSuppressionV4",
    (*_BOXES, *_THRESHOLDS),
    _padded,
    outputs=("selected_indices: int32", "valid_outputs: int32"),
    attrs={**_TYPES["attrs"], **_PADS},
    types=_TYPES["types"],
)
_define(
    "NonMaxSuppressionV5",
    (*_BOXES, "iou_threshold: T", "score_threshold: T", "soft_nms_sigma: T"),
    _scored,
    outputs=("selected_indices: int32", "selected_scores: T", "valid_outputs: int32"),
    attrs={"T": dtypes.float32, **_PADS},
    types={"T": _FLOATS},
)
_define(
    "NonMaxSuppressionWithOverlaps",
    (
        "overlaps: float32",
        "scores: float32",
        _LIMIT,
        "overlap_threshold: float32",
        "score_threshold: float32",
    ),
    _of_overlaps,
)
_define(
    "CombinedNonMaxSuppression",
    (
        "boxes: float32",
        "scores: float32",
        "max_output_size_per_class: int32",
        "max_total_size: int32",
        "iou_threshold: float32",
        "score_threshold: float32",
    ),
    _combined,
    outputs=(
        "nmsed_boxes: float32",
        "nmsed_scores: float32",
        "nmsed_classes: float32",
        "valid_detections: int32",
    ),
    attrs={"pad_per_class": False, "clip_boxes": True},
)
