"""Rows of ops that round to the levels of a quantized type (tensorflow/core/ops/array_ops.cc)."""

from collections.abc import Callable

from capstan.core import shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_LIMITS = {"min": -6.0, "max": 6.0}
_LEVELS = {"num_bits": 8, "narrow_range": False}
_HOST = ("min", "max")


def _of_scalars(ctx: ShapeContext) -> rules.Shapes:
    for limit in ctx.inputs[1:]:
        shapes.with_rank(limit, 0)
    return (ctx.inputs[0],)


def _of_channels(ctx: ShapeContext) -> rules.Shapes:
    inputs = shapes.with_rank_at_least(ctx.inputs[0], 1)
    last = (None,) if inputs is None else inputs[-1:]
    for limit in ctx.inputs[1:]:
        last = shapes.merge(last, limit) or last
    return (inputs,)


def _slopes_of_scalars(ctx: ShapeContext) -> rules.Shapes:
    for limit in ctx.inputs[2:]:
        shapes.with_rank(limit, 0)
    return (shapes.merge(*ctx.inputs[:2]), (), ())


def _slopes_of_channels(ctx: ShapeContext) -> rules.Shapes:
    inputs = shapes.with_rank_at_least(shapes.merge(*ctx.inputs[:2]), 1)
    last: shapes.Shape = (None,) if inputs is None else inputs[-1:]
    for limit in ctx.inputs[2:]:
        last = shapes.merge(last, limit)
    return (inputs, last, last)


def _slope(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    attrs = {name: op.get_attr(name) for name in (*_LIMITS, *_LEVELS)}
    return (raw.FakeQuantWithMinMaxArgsGradient(grads[0], op.inputs[0], **attrs),)


def _slopes(name: str) -> Callable[[Op, Gradients, Raw], Gradients]:
    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        attrs = {attribute: op.get_attr(attribute) for attribute in _LEVELS}
        return tuple(getattr(raw, name)(grads[0], *op.inputs, **attrs))

    return gradient


def _of_slices(ctx: ShapeContext) -> rules.Shapes:
    axis = int(ctx.attrs["axis"])
    if axis == -1:
        return _of_scalars(ctx)
    inputs = shapes.with_rank_at_least(ctx.inputs[0], axis + 1)
    size: shapes.Shape = (None,) if inputs is None else (inputs[axis],)
    for limit in ctx.inputs[1:3]:
        size = shapes.merge(size, limit)
    return (inputs,)


def _inside(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    axis = op.get_attr("axis")
    return tuple(raw.QuantizeAndDequantizeV4Grad(grads[0], *op.inputs, axis=axis))


def _straight(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """The rounding has a slope of 0 nearly everywhere, so the gradient leaves the rounding out."""
    return (grads[0], *(None for _ in op.inputs[1:]))


define(
    OpDef(
        "FakeQuantWithMinMaxArgs",
        ("inputs: float32",),
        ("outputs: float32",),
        attrs={**_LIMITS, **_LEVELS},
        shape=rules.unchanged,
        gradient=_slope,
    )
)
define(
    OpDef(
        "FakeQuantWithMinMaxArgsGradient",
        ("gradients: float32", "inputs: float32"),
        ("backprops: float32",),
        attrs={**_LIMITS, **_LEVELS},
        shape=rules.unchanged,
    )
)
for _name, _shape, _slope_shape in (
    ("FakeQuantWithMinMaxVars", _of_scalars, _slopes_of_scalars),
    ("FakeQuantWithMinMaxVarsPerChannel", _of_channels, _slopes_of_channels),
):
    define(
        OpDef(
            _name,
            ("inputs: float32", "min: float32", "max: float32"),
            ("outputs: float32",),
            attrs=_LEVELS,
            shape=_shape,
            gradient=_slopes(f"{_name}Gradient"),
            host=_HOST,
        )
    )
    define(
        OpDef(
            f"{_name}Gradient",
            ("gradients: float32", "inputs: float32", "min: float32", "max: float32"),
            (
                "backprops_wrt_input: float32",
                "backprop_wrt_min: float32",
                "backprop_wrt_max: float32",
            ),
            attrs=_LEVELS,
            shape=_slope_shape,
            host=_HOST,
        )
    )
_ROUNDING = {
    "signed_input": True,
    "num_bits": 8,
    "range_given": False,
    "round_mode": b"HALF_TO_EVEN",
    "narrow_range": False,
    "axis": -1,  # since TensorFlow 2.2
}
for _name, _gradient in (
    ("QuantizeAndDequantizeV2", _straight),
    ("QuantizeAndDequantizeV4", _inside),
):
    define(
        OpDef(
            _name,
            ("input: T", "input_min: T", "input_max: T"),
            ("output: T",),
            attrs=_ROUNDING,
            shape=_of_slices,
            gradient=_gradient,
            types={"T": typesets.WIDE},
            choices={"round_mode": (b"HALF_TO_EVEN", b"HALF_UP")},
            host=("input_min", "input_max"),
        )
    )
define(
    OpDef(
        "QuantizeAndDequantizeV3",
        ("input: T", "input_min: T", "input_max: T", "num_bits: int32"),
        ("output: T",),
        attrs={"signed_input": True, "range_given": True, "narrow_range": False, "axis": -1},
        shape=_of_slices,
        gradient=_straight,
        types={"T": typesets.WIDE},
        host=("input_min", "input_max", "num_bits"),
    )
)
define(
    OpDef(
        "QuantizeAndDequantizeV4Grad",
        ("gradients: T", "input: T", "input_min: T", "input_max: T"),
        ("input_backprop: T", "input_min_backprop: T", "input_max_backprop: T"),
        attrs={"axis": -1},
        shape=lambda ctx: (shapes.merge(*ctx.inputs[:2]), *ctx.inputs[2:]),
        types={"T": typesets.WIDE},
        host=("input_min", "input_max", "input_min_backprop", "input_max_backprop"),
    )
)
define(
    OpDef(
        "QuantizeAndDequantize",
        ("input: T",),
        ("output: T",),
        attrs={
            "signed_input": True,
            "num_bits": 8,
            "range_given": False,
            "input_min": 0.0,
            "input_max": 0.0,
        },
        shape=rules.unchanged,
        gradient=_straight,
        types={"T": typesets.WIDE},
    )
)
