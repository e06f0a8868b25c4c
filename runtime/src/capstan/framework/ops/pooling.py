"""Rows of pools over images (core/ops/nn_ops.cc, python/ops/nn_grad.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.core import dtypes, shapes, windows
from capstan.framework.opdef import (
    GradientRule,
    Gradients,
    Op,
    OpDef,
    Raw,
    ShapeContext,
    ShapeRule,
    define,
)
from capstan.framework.ops import rules, typesets, window_rules

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
    window_rules.check_lists(ctx, "Requires", 4, "ksize", "strides")
    value = rules.with_rank(ctx.inputs[0], 4)
    return (tuple(pooled(ctx.attrs, axis, size) for axis, size in enumerate(value)),)


def _given_shape(ctx: ShapeContext) -> rules.Shapes:
    """The sizes and strides of the windows are inputs 1 and 2."""
    value = rules.with_rank(ctx.inputs[0], 4)
    sizes = {}
    for index, name in ((1, "ksize"), (2, "strides")):
        shapes.merge(ctx.inputs[index], (4,))
        known = ctx.constant(index)
        if known is None:
            return (None,)
        sizes[name] = known.tolist()
    attrs = {**ctx.attrs, **sizes}
    return (tuple(pooled(attrs, axis, size) for axis, size in enumerate(value)),)


def _argmax_shape(ctx: ShapeContext) -> rules.Shapes:
    return (*_pool_shape(ctx), *_pool_shape(ctx))


def _by_max_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 4),)


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


def _given(op: Op) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("padding", "data_format")}


def _max_given(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, *sizes = op.inputs
    return raw.MaxPoolGradV2(value, op.outputs[0], grads[0], *sizes, **_given(op)), None, None


def _max_grad_given(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, largest, _, *sizes = op.inputs
    return (
        raw.ZerosLike(value),
        raw.ZerosLike(largest),
        raw.MaxPoolGradGradV2(value, largest, grads[0], *sizes, **_given(op)),
        None,
        None,
    )


def _argmax(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    names = ("ksize", "strides", "padding", "include_batch_in_index")
    attrs = {name: op.get_attr(name) for name in names}
    return (raw.MaxPoolGradWithArgmax(op.inputs[0], grads[0], op.outputs[1], **attrs),)


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
        shape=window_rules.shape_in(0, 4),
        gradient=_mean_grad,
        types=_AVERAGED,
        host=("orig_input_shape",),
    )
)
_GIVEN: dict[str, tuple[GradientRule | None, ShapeRule]] = {
    "MaxPoolV2": (_max_given, _given_shape),
    "MaxPoolGradV2": (_max_grad_given, _by_max_shape),
    "MaxPoolGradGradV2": (None, _second_shape),
}
for _name, (_rule_given, _shape_given) in _GIVEN.items():
    _grad = ("orig_input: T", "orig_output: T", "grad: T")
    define(
        OpDef(
            _name,
            (
                *(("input: T",) if _name == "MaxPoolV2" else _grad),
                "ksize: int32",
                "strides: int32",
            ),
            ("output: T",),
            attrs={"padding": bytes, "data_format": b"NHWC"},
            choices=_CHOICES,
            shape=_shape_given,
            gradient=_rule_given,
            types=_LARGEST,
            host=("ksize", "strides"),
        )
    )
_WITH_ARGMAX: dict[str, Any] = {
    "ksize": list,
    "strides": list,
    "padding": bytes,
}
_ARGMAX_TYPES = {"T": typesets.NUMERIC, "Targmax": typesets.INDEX}
define(
    OpDef(
        "MaxPoolWithArgmax",
        ("input: T",),
        ("output: T", "argmax: Targmax"),
        attrs={**_WITH_ARGMAX, "Targmax": dtypes.int64, "include_batch_in_index": False},
        choices={"padding": _CHOICES["padding"]},
        shape=_argmax_shape,
        gradient=_argmax,
        types=_ARGMAX_TYPES,
    )
)
define(
    OpDef(
        "MaxPoolGradWithArgmax",
        ("input: T", "grad: T", "argmax: Targmax"),
        ("output: T",),
        attrs={**_WITH_ARGMAX, "include_batch_in_index": False},
        choices={"padding": _CHOICES["padding"]},
        shape=_by_max_shape,
        types=_ARGMAX_TYPES,
    )
)
define(
    OpDef(
        "MaxPoolGradGradWithArgmax",
        ("input: T", "grad: T", "argmax: Targmax"),
        ("output: T",),
        attrs={**_WITH_ARGMAX, "include_batch_in_index": False},
        choices={"padding": _CHOICES["padding"]},
        shape=_pool_shape,
        types=_ARGMAX_TYPES,
    )
)
