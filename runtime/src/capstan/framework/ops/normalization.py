"""Rows of batch normalization and local response normalization (python/ops/nn_grad.py)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules

_ATTRIBUTES: dict[str, Any] = {"epsilon": 0.0001, "data_format": b"NHWC", "is_training": True}
_CHOICES = {"data_format": (b"NHWC", b"NCHW")}
_SINGLE = {"T": (dtypes.float32,)}
_WIDE = {"T": (dtypes.float16, dtypes.bfloat16, dtypes.float32), "U": (dtypes.float32,)}
_RADIUS: dict[str, Any] = {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}


def _channel_axis(ctx: ShapeContext) -> int:
    return 1 if ctx.attrs["data_format"] in (b"NCHW", "NCHW") else 3


def _normal_shape(ctx: ShapeContext) -> rules.Shapes:
    value = list(rules.with_rank(ctx.inputs[0], 4))
    axis = _channel_axis(ctx)
    count = len(ctx.inputs) if not ctx.attrs["is_training"] else 3
    for vector in ctx.inputs[1:count]:
        (size,) = rules.with_rank(vector, 1)
        value[axis] = shapes.merge_dimension(value[axis], size)
    vector = (value[axis],)
    return (tuple(value), vector, vector, vector, vector)


def _grad_shape(ctx: ShapeContext) -> rules.Shapes:
    value = rules.with_rank(shapes.merge(ctx.inputs[0], ctx.inputs[1]), 4)
    vector = (value[_channel_axis(ctx)],)
    return (value, vector, vector, (0,), (0,))


def _three_spaces(rule: Any) -> Any:
    """Return the shape rule of version 3, which has one more output for a GPU."""
    return lambda ctx: (*rule(ctx), (None,))


def _normal(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    training = op.get_attr("is_training")
    build = getattr(raw, op.type.replace("Norm", "NormGrad"))
    spaces = op.outputs[3:] if training else [*op.inputs[3:5], *op.outputs[5:]]
    found = build(
        grads[0],
        op.inputs[0],
        op.inputs[1],
        *spaces,
        **{name: op.get_attr(name) for name in _ATTRIBUTES},
    )
    return found[0], found[1], found[2], None, None


def _lrn(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    attrs = {name: op.get_attr(name) for name in _RADIUS}
    return (raw.LRNGrad(grads[0], op.inputs[0], op.outputs[0], **attrs),)


def _image(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 4),)


for _version, _kind, _types in (("", "T", _SINGLE), ("V2", "U", _WIDE), ("V3", "U", _WIDE)):
    _extra = ("reserve_space_3: U",) if _version == "V3" else ()
    define(
        OpDef(
            f"FusedBatchNorm{_version}",
            (
                "x: T",
                *(f"{name}: {_kind}" for name in ("scale", "offset", "mean", "variance")),
            ),
            (
                "y: T",
                *(
                    f"{name}: {_kind}"
                    for name in (
                        *("batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
                    )
                ),
                *_extra,
            ),
            attrs=_ATTRIBUTES,
            choices=_CHOICES,
            shape=_three_spaces(_normal_shape) if _extra else _normal_shape,
            gradient=_normal,
            types=_types,
        )
    )
    define(
        OpDef(
            f"FusedBatchNormGrad{_version}",
            (
                "y_backprop: T",
                "x: T",
                "scale: float32" if _kind == "U" else "scale: T",
                f"reserve_space_1: {_kind}",
                f"reserve_space_2: {_kind}",
                *_extra,
            ),
            (
                "x_backprop: T",
                f"scale_backprop: {_kind}",
                f"offset_backprop: {_kind}",
                f"reserve_space_{4 if _extra else 3}: {_kind}",
                f"reserve_space_{5 if _extra else 4}: {_kind}",
            ),
            attrs=_ATTRIBUTES,
            choices=_CHOICES,
            shape=_grad_shape,
            types=_types,
        )
    )
define(
    OpDef(
        "LRN",
        ("input: T",),
        ("output: T",),
        attrs=_RADIUS,
        shape=_image,
        gradient=_lrn,
        types={"T": (dtypes.float16, dtypes.bfloat16, dtypes.float32)},
    )
)
define(
    OpDef(
        "LRNGrad",
        ("input_grads: T", "input_image: T", "output_image: T"),
        ("output: T",),
        attrs=_RADIUS,
        shape=rules.merged,
        types={"T": (dtypes.float16, dtypes.bfloat16, dtypes.float32)},
    )
)
