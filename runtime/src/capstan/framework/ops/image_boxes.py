"""Rows of the ops on boxes in images (core/ops/image_ops.cc).

A box holds the numbers y_min, x_min, y_max and x_max, from 0 to 1.
"""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    images, boxes = rules.with_rank(ctx.inputs[0], 4), rules.with_rank(ctx.inputs[1], 3)
    shapes.merge(boxes[2:], (4,))
    if images[3] not in (None, 1, 3, 4):
        raise ValueError("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    return (ctx.inputs[0],)


def _window(ctx: ShapeContext) -> rules.Shapes:
    shapes.merge(ctx.inputs[0], (3,))
    shapes.merge(rules.with_rank(ctx.inputs[1], 3)[2:], (4,))
    return ((3,), (3,), (1, 1, 4))


for _version, _more in (("", ()), ("V2", ("colors: float32",))):
    define(
        OpDef(
            f"DrawBoundingBoxes{_version}",
            ("images: T", "boxes: float32", *_more),
            ("output: T",),
            attrs={"T": dtypes.float32},
            shape=_drawn,
            not_differentiable=True,
            types={"T": (dtypes.float32, dtypes.float16)},
        )
    )
_SEEDS: dict[str, Any] = {"seed": 0, "seed2": 0}
_ATTRS: dict[str, Any] = {
    "aspect_ratio_range": [0.75, 1.33],
    "area_range": [0.05, 1.0],
    "max_attempts": 100,
    "use_image_if_no_bounding_boxes": False,
}
_LEAST = "min_object_covered: float32"
for _op, _inputs, _attrs in (
    (
        "SampleDistortedBoundingBox",
        (),
        {**_SEEDS, "min_object_covered": 0.1, **_ATTRS},
    ),
    ("SampleDistortedBoundingBoxV2", (_LEAST,), {**_SEEDS, **_ATTRS}),
    ("StatelessSampleDistortedBoundingBox", (_LEAST, "seed: Tseed"), _ATTRS),
):
    _is_stateless = _op.startswith("Stateless")
    define(
        OpDef(
            _op,
            ("image_size: T", "bounding_boxes: float32", *_inputs),
            ("begin: T", "size: T", "bboxes: float32"),
            attrs=_attrs,
            shape=_window,
            not_differentiable=True,
            effect=facts.PURE if _is_stateless else facts.RANDOM,
            types={
                "T": (dtypes.uint8, dtypes.int8, dtypes.int16, *typesets.INDEX),
                **({"Tseed": typesets.INDEX} if _is_stateless else {}),
            },
        )
    )
