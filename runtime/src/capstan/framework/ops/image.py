"""Rows of the ops on images (core/ops/image_ops.cc, python/ops/image_grad.py)."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import (
    GradientRule,
    Gradients,
    Op,
    OpDef,
    Raw,
    ShapeContext,
    define,
)
from capstan.framework.ops import hsv_gradient, rules, typesets

_PIXELS = (
    dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64,
    *typesets.FLOATING,
)  # fmt: skip


def _decoded(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((None, None, ctx.attrs["channels"] or None),)


def _cropped(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    shapes.merge(ctx.inputs[1], (4,))
    window = ctx.constant(1)
    height, width = (None, None) if window is None else window.tolist()[2:]
    return ((height, width, ctx.attrs["channels"] or None),)


def _jpeg_shape(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((3,),)


def _frames(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((None, None, None, 3),)


def _any_format(ctx: ShapeContext) -> rules.Shapes:
    return (None,) if ctx.attrs["expand_animations"] else _decoded(ctx)


def _encoded(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 3)
    return ((),)


def _encoded_once(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return _encoded(ctx)


def _resized(ctx: ShapeContext) -> rules.Shapes:
    batch, _, _, channels = rules.with_rank(ctx.inputs[0], 4)
    size = rules.shape_in(ctx, 1)
    height, width = (None, None) if size is None else size
    return ((batch, height, width, channels),)


def _like_original(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[1],)


def _positions(op: Op) -> dict[str, Any]:
    """Return the attributes that say where the new pixels are among the old ones."""
    return {name: op.get_attr(name) for name in ("align_corners", "half_pixel_centers")}


def _bilinear_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.ResizeBilinearGrad(grads[0], op.inputs[0], **_positions(op)), None


def _bicubic_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    if op.inputs[0].dtype.base_dtype not in typesets.WIDE:
        return None, None
    return raw.ResizeBicubicGrad(grads[0], op.inputs[0], **_positions(op)), None


def _nearest_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    images = op.inputs[0]
    known = images.shape.internal
    size: Any = None if known is None or None in known[1:3] else np.array(known[1:3], np.int32)
    if size is None:
        size = raw.Slice(raw.Shape(images), np.array([1], np.int32), np.array([2], np.int32))
    return raw.ResizeNearestNeighborGrad(grads[0], size, **_positions(op)), None


def _colours(ctx: ShapeContext) -> rules.Shapes:
    shape = shapes.with_rank_at_least(ctx.inputs[0], 1)
    if shape is not None:
        shapes.merge_dimension(shape[-1], 3)
    return (shape,)


def _contrast(ctx: ShapeContext) -> rules.Shapes:
    """Require images, and scalars for the factor and the limits."""
    images, *numbers = ctx.inputs
    for number in numbers:
        shapes.with_rank(number, 0)
    return (shapes.with_rank_at_least(images, 3),)


_DECODE: dict[str, dict[str, Any]] = {
    "DecodePng": {"channels": 0, "dtype": dtypes.uint8},
    "DecodeJpeg": {
        "channels": 0,
        "ratio": 1,
        "fancy_upscaling": True,
        "try_recover_truncated": False,
        "acceptable_fraction": 1.0,
        "dct_method": b"",
    },
    "DecodeBmp": {"channels": 0},
    "DecodeGif": {},
    "DecodeImage": {"channels": 0, "dtype": dtypes.uint8, "expand_animations": True},
}
_RULES = {"DecodeGif": _frames, "DecodeImage": _any_format}
for _name, _attrs in _DECODE.items():
    _kinds: tuple[dtypes.DType, ...] = (dtypes.uint8, dtypes.uint16)
    if _name == "DecodeImage":
        _kinds = (*_kinds, dtypes.float32)
    define(
        OpDef(
            _name,
            ("contents: string",),
            ("image: dtype" if "dtype" in _attrs else "image: uint8",),
            attrs=_attrs,
            shape=_RULES.get(_name, _decoded),
            not_differentiable=True,
            types={"dtype": _kinds} if "dtype" in _attrs else {},
        )
    )
define(
    OpDef(
        "DecodeAndCropJpeg",
        ("contents: string", "crop_window: int32"),
        ("image: uint8",),
        attrs=_DECODE["DecodeJpeg"],
        shape=_cropped,
        not_differentiable=True,
        host=("crop_window",),
    )
)
define(
    OpDef(
        "ExtractJpegShape",
        ("contents: string",),
        ("image_shape: output_type",),
        attrs={"output_type": dtypes.int32},
        shape=_jpeg_shape,
        not_differentiable=True,
        types={"output_type": typesets.INDEX},
    )
)
define(
    OpDef(
        "EncodePng",
        ("image: T",),
        ("contents: string",),
        attrs={"compression": -1, "T": dtypes.uint8},
        shape=_encoded,
        not_differentiable=True,
        types={"T": (dtypes.uint8, dtypes.uint16)},
    )
)
define(
    OpDef(
        "EncodeJpeg",
        ("image: uint8",),
        ("contents: string",),
        attrs={
            "format": b"",
            "quality": 95,
            "progressive": False,
            "optimize_size": False,
            "chroma_downsampling": True,
            "density_unit": b"in",
            "x_density": 300,
            "y_density": 300,
            "xmp_metadata": b"",
        },
        shape=_encoded,
        not_differentiable=True,
        choices={"format": (b"", b"grayscale", b"rgb"), "density_unit": (b"in", b"cm")},
    )
)
define(
    OpDef(
        "EncodeJpegVariableQuality",
        ("images: uint8", "quality: int32"),
        ("contents: string",),
        shape=_encoded_once,
        not_differentiable=True,
    )
)
_RESIZE: dict[str, GradientRule | None] = {
    "ResizeBilinear": _bilinear_grad,
    "ResizeBicubic": _bicubic_grad,
    "ResizeArea": None,
    "ResizeNearestNeighbor": _nearest_grad,
}
for _name, _gradient in _RESIZE.items():
    _centers = {} if _name == "ResizeArea" else {"half_pixel_centers": False}
    define(
        OpDef(
            _name,
            ("images: T", "size: int32"),
            ("resized_images: " + ("T" if _name == "ResizeNearestNeighbor" else "float32"),),
            attrs={"align_corners": False, **_centers},
            shape=_resized,
            gradient=_gradient,
            types={"T": _PIXELS},
            host=("size",),
        )
    )
for _name, _types in (
    ("ResizeBilinearGrad", typesets.FLOATING),
    ("ResizeBicubicGrad", typesets.WIDE),
):
    define(
        OpDef(
            _name,
            ("grads: float32", "original_image: T"),
            ("output: T",),
            attrs={"align_corners": False, "half_pixel_centers": False},
            shape=_like_original,
            not_differentiable=_name == "ResizeBilinearGrad",
            types={"T": _types},
        )
    )
define(
    OpDef(
        "ResizeNearestNeighborGrad",
        ("grads: T", "size: int32"),
        ("output: T",),
        attrs={"align_corners": False, "half_pixel_centers": False},
        shape=_resized,
        types={"T": (dtypes.uint8, dtypes.int8, dtypes.int32, *typesets.FLOATING)},
        host=("size",),
    )
)
_CONVERSIONS: tuple[tuple[str, GradientRule | None], ...] = (
    ("RGBToHSV", hsv_gradient.from_rgb),
    ("HSVToRGB", None),
)
for _name, _rule in _CONVERSIONS:
    define(
        OpDef(
            _name,
            ("images: T",),
            ("output: T",),
            attrs={"T": dtypes.float32},
            shape=_colours,
            gradient=_rule,
            types={"T": typesets.FLOATING},
        )
    )
for _name, _amount in (("AdjustHue", "delta"), ("AdjustSaturation", "scale")):
    define(
        OpDef(
            _name,
            ("images: T", f"{_amount}: float32"),
            ("output: T",),
            attrs={"T": dtypes.float32},
            shape=_colours,
            types={"T": (dtypes.float16, dtypes.float32)},
        )
    )
define(
    OpDef(
        "AdjustContrastv2",
        ("images: T", "contrast_factor: float32"),
        ("output: T",),
        attrs={"T": dtypes.float32},
        shape=_contrast,
        types={"T": (dtypes.float16, dtypes.float32)},
    )
)
define(
    OpDef(
        "AdjustContrast",
        ("images: T", "contrast_factor: float32", "min_value: float32", "max_value: float32"),
        ("output: float32",),
        shape=_contrast,
        types={"T": (dtypes.uint8, dtypes.int8, dtypes.int16, *typesets.INDEX, *typesets.WIDE)},
    )
)
