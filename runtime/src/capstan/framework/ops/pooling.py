"""Rows of pools over images (core/ops/nn_ops.cc, python/ops/nn_grad.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.core import dtypes, windows
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_ATTRIBUTES: dict[str, Any] = {
    "ksize": list,
    "strides": list,
    "padding": bytes,
    "data_format": b"NHWC",
}
_CHOICES = {"padding": (b"SAME", b"VALID"), "data_format": (b"NHWC", b"NCHW")}
_LARGEST = {
    "T": (
        *typesets.FLOATING, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.int16, dtypes.int8,
        dtypes.uint16,
    )
}  # fmt: skip
_AVERAGED = {"T": typesets.FLOATING}


def pooled(attrs: Mapping[str, Any], axis: int, size: int | None) -> int | None:
    """Return the number of windows over an axis, or None if its size is unknown."""
    width, stride = attrs["ksize"][axis], attrs["strides"][axis]
    if size is None or (width == 1 and stride == 1):
        return size
    return windows.count(size, width, stride, 1, windows.padding_of(attrs, axis))


def _pool_shape(ctx: ShapeContext) -> rules.Shapes:
    for name in ("ksize", "strides"):
        if len(ctx.attrs[name]) != 4:
            raise ValueError(
                f"Requires the {name} attribute to contain 4 values, but got: "
                f"{len(ctx.attrs[name])}"
            )
    value = rules.with_rank(ctx.inputs[0], 4)
    return (tuple(pooled(ctx.attrs, axis, size) for axis, size in enumerate(value)),)


def _by_max_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 4),)


def _by_mean_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(rules.shape_in(ctx, 0), 4),)


def _same(op: Op) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in _ATTRIBUTES}


def _max(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.MaxPoolGrad(op.inputs[0], op.outputs[0], grads[0], **_same(op)),)


def _max_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, largest, _ = op.inputs
    return (
        raw.ZerosLike(value),
        raw.ZerosLike(largest),
        raw.MaxPoolGradGrad(value, largest, grads[0], **_same(op)),
    )


def _max_grad_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, largest, _ = op.inputs
    return (
        raw.ZerosLike(value),
        raw.ZerosLike(largest),
        raw.MaxPoolGrad(value, largest, grads[0], **_same(op)),
    )


def _mean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.AvgPoolGrad(raw.Shape(op.inputs[0]), grads[0], **_same(op)),)


def _mean_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return None, raw.AvgPool(grads[0], **_same(op))


def _second_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[1], 4),)


define(
    OpDef(
        "MaxPool",
        ("input: T",),
        ("output: T",),
        attrs=_ATTRIBUTES,
        choices=_CHOICES,
        shape=_pool_shape,
        gradient=_max,
        types=_LARGEST,
    )
)
for _name, _rule, _shape in (
    ("MaxPoolGrad", _max_grad, _by_max_shape),
    ("MaxPoolGradGrad", _max_grad_grad, _second_shape),
):
    define(
        OpDef(
            _name,
            ("orig_input: T", "orig_output: T", "grad: T"),
            ("output: T",),
            attrs=_ATTRIBUTES,
            choices=_CHOICES,
            shape=_shape,
            gradient=_rule,
            types=_LARGEST,
        )
    )
define(
    OpDef(
        "AvgPool",
        ("value: T",),
        ("output: T",),
        attrs=_ATTRIBUTES,
        choices=_CHOICES,
        shape=_pool_shape,
        gradient=_mean,
        types=_AVERAGED,
    )
)
define(
    OpDef(
        "AvgPoolGrad",
        ("orig_input_shape: int32", "grad: T"),
        ("output: T",),
        attrs=_ATTRIBUTES,
        choices=_CHOICES,
        shape=_by_mean_shape,
        gradient=_mean_grad,
        types=_AVERAGED,
        host=("orig_input_shape",),
    )
)
