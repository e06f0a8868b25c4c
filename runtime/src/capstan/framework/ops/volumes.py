"""Rows of convolutions and pools over volumes (core/ops/nn_ops.cc, python/ops/nn_grad.py)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import pooling, rules, typesets, window_rules

_CONVOLUTION: dict[str, Any] = {
    "strides": list,
    "padding": bytes,
    "data_format": b"NDHWC",
    "dilations": [1, 1, 1, 1, 1],
}
_POOL: dict[str, Any] = {
    "ksize": list,
    "strides": list,
    "padding": bytes,
    "data_format": b"NDHWC",
}
_CHOICES = {"padding": (b"SAME", b"VALID"), "data_format": (b"NDHWC", b"NCDHW")}
_FLOATS = {"T": typesets.FLOATING}
_LARGEST = {"T": (dtypes.float16, dtypes.bfloat16, dtypes.float32)}


def _convolved(ctx: ShapeContext) -> rules.Shapes:
    window_rules.check_lists(ctx, "Requires", 5, "strides", "dilations")
    value, kernel = (rules.with_rank(shape, 5) for shape in ctx.inputs)
    is_first = ctx.attrs["data_format"] == b"NCDHW"
    depth, spatial = (1, (2, 3, 4)) if is_first else (4, (1, 2, 3))
    shapes.merge_dimension(value[depth], kernel[3])
    result: list[int | None] = [value[0]] * 5
    result[depth] = kernel[4]
    for place, axis in enumerate(spatial):
        stride, dilation = ctx.attrs["strides"][axis], ctx.attrs["dilations"][axis]
        result[axis] = window_rules.count(
            value[axis], kernel[place], stride, dilation, ctx.attrs["padding"]
        )
    return (tuple(result),)


def _pooled(ctx: ShapeContext) -> rules.Shapes:
    window_rules.check_lists(ctx, "Requires", 5, "ksize", "strides")
    value = rules.with_rank(ctx.inputs[0], 5)
    return (tuple(pooling.pooled(ctx.attrs, axis, size) for axis, size in enumerate(value)),)


def _like(index: int) -> Any:
    return lambda ctx: (rules.with_rank(ctx.inputs[index], 5),)


def _same(op: Op, names: dict[str, Any]) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in names}


def _conv(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (value, kernel), (grad,), same = op.inputs, grads, _same(op, _CONVOLUTION)
    return (
        raw.Conv3DBackpropInputV2(raw.Shape(value), kernel, grad, **same),
        raw.Conv3DBackpropFilterV2(value, raw.Shape(kernel), grad, **same),
    )


def _by_input(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (_, kernel, slope), (grad,), same = op.inputs, grads, _same(op, _CONVOLUTION)
    return (
        None,
        raw.Conv3DBackpropFilterV2(grad, raw.Shape(kernel), slope, **same),
        raw.Conv3D(grad, kernel, **same),
    )


def _by_filter(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (value, _, slope), (grad,), same = op.inputs, grads, _same(op, _CONVOLUTION)
    return (
        raw.Conv3DBackpropInputV2(raw.Shape(value), grad, slope, **same),
        None,
        raw.Conv3D(value, grad, **same),
    )


def _max(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.MaxPool3DGrad(op.inputs[0], op.outputs[0], grads[0], **_same(op, _POOL)),)


def _max_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, largest, _ = op.inputs
    return (
        raw.ZerosLike(value),
        raw.ZerosLike(largest),
        raw.MaxPool3DGradGrad(value, largest, grads[0], **_same(op, _POOL)),
    )


def _max_grad_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    value, largest, _ = op.inputs
    return (
        raw.ZerosLike(value),
        raw.ZerosLike(largest),
        raw.MaxPool3DGrad(value, largest, grads[0], **_same(op, _POOL)),
    )


def _mean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.AvgPool3DGrad(raw.Shape(op.inputs[0]), grads[0], **_same(op, _POOL)),)


def _mean_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return None, raw.AvgPool3D(grads[0], **_same(op, _POOL))


for _name, _inputs, _attrs, _shape, _gradient, _types, _host in (
    ("Conv3D", ("input: T", "filter: T"), _CONVOLUTION, _convolved, _conv, _FLOATS, ()),
    (
        "Conv3DBackpropInputV2",
        ("input_sizes: Tshape", "filter: T", "out_backprop: T"),
        {**_CONVOLUTION, "Tshape": dtypes.int32},
        window_rules.shape_in(0, 5),
        _by_input,
        {**_FLOATS, "Tshape": typesets.INDEX},
        ("input_sizes",),
    ),
    (
        "Conv3DBackpropFilterV2",
        ("input: T", "filter_sizes: int32", "out_backprop: T"),
        _CONVOLUTION,
        window_rules.shape_in(1, 5),
        _by_filter,
        _FLOATS,
        ("filter_sizes",),
    ),
    ("MaxPool3D", ("input: T",), _POOL, _pooled, _max, _LARGEST, ()),
    (
        "MaxPool3DGrad",
        ("orig_input: TInput", "orig_output: TInput", "grad: T"),
        {**_POOL, "TInput": dtypes.float32},
        _like(0),
        _max_grad,
        {**_LARGEST, "TInput": _LARGEST["T"]},
        (),
    ),
    (
        "MaxPool3DGradGrad",
        ("orig_input: T", "orig_output: T", "grad: T"),
        _POOL,
        _like(1),
        _max_grad_grad,
        _LARGEST,
        (),
    ),
    ("AvgPool3D", ("input: T",), _POOL, _pooled, _mean, _FLOATS, ()),
    (
        "AvgPool3DGrad",
        ("orig_input_shape: int32", "grad: T"),
        _POOL,
        window_rules.shape_in(0, 5),
        _mean_grad,
        _FLOATS,
        ("orig_input_shape",),
    ),
):
    define(
        OpDef(
            _name,
            _inputs,
            ("output: T",),
            attrs=_attrs,
            choices=_CHOICES,
            shape=_shape,
            gradient=_gradient,
            types=_types,
            host=_host,
        )
    )
for _index, _which in enumerate(("Input", "Filter")):
    define(
        OpDef(
            f"Conv3DBackprop{_which}",
            ("input: T", "filter: T", "out_backprop: T"),
            ("output: T",),
            attrs={"strides": list, "padding": bytes, "dilations": [1, 1, 1, 1, 1]},
            choices={"padding": _CHOICES["padding"]},
            shape=_like(_index),
            types={"T": (dtypes.float16, *typesets.WIDE)},
            minima={"strides": 5},
        )
    )
