"""Rows of two-dimensional convolutions (core/ops/nn_ops.cc, python/ops/nn_grad.py)."""

from typing import Any

from capstan.core import shapes, windows
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, window_rules

_ATTRIBUTES: dict[str, Any] = {
    "strides": list,
    "use_cudnn_on_gpu": True,
    "padding": bytes,
    "explicit_paddings": [],
    "data_format": b"NHWC",
    "dilations": [1, 1, 1, 1],
}
_DEPTHWISE = {name: _ATTRIBUTES[name] for name in _ATTRIBUTES if name != "use_cudnn_on_gpu"}
_CHOICES = {"padding": (b"SAME", b"VALID", b"EXPLICIT"), "data_format": (b"NHWC", b"NCHW")}
_TYPES = {"T": typesets.FLOATING}


def _output(ctx: ShapeContext, is_depthwise: bool) -> rules.Shapes:
    value, kernel = (rules.with_rank(shape, 4) for shape in ctx.inputs[:2])
    attrs = ctx.attrs
    window_rules.check_lists(ctx, "Conv2D requires", 4, "strides", "dilations")
    height, width, depth = windows.axes_of(attrs["data_format"])
    units = kernel[3]
    if is_depthwise:
        channels = shapes.merge_dimension(value[depth], kernel[2])
        units = None if channels is None or units is None else channels * units
    else:
        _check_groups(value[depth], kernel[2], units)
    result: list[int | None] = [value[0]] * 4
    result[depth] = units
    for axis, breadth in ((height, kernel[0]), (width, kernel[1])):
        stride, dilation = attrs["strides"][axis], attrs["dilations"][axis]
        padding = windows.padding_of(attrs, axis)
        result[axis] = window_rules.count(value[axis], breadth, stride, dilation, padding)
    return (tuple(result),)


def _check_groups(channels: int | None, depth: int | None, units: int | None) -> None:
    """Require that filters of `depth` channels divide the channels of images in equal groups.

    Raises:
        ValueError: the channels are not a multiple of `depth`, or the groups would have different
            numbers of filters.
    """
    if channels is None or depth is None or channels == depth:
        return
    if not depth or channels % depth:
        raise ValueError(
            f"Depth of input ({channels}) is not a multiple of input depth of filter ({depth})"
        )
    groups = channels // depth
    if units is not None and groups and units % groups:
        raise ValueError(
            f"Depth of output ({units}) is not a multiple of the number of groups ({groups})"
        )


def _conv_shape(ctx: ShapeContext) -> rules.Shapes:
    return _output(ctx, is_depthwise=False)


def _depthwise_shape(ctx: ShapeContext) -> rules.Shapes:
    return _output(ctx, is_depthwise=True)


def _input_shape(ctx: ShapeContext) -> rules.Shapes:
    """Return the shape that `input_sizes` holds, for the gradient by the input."""
    if "use_cudnn_on_gpu" in ctx.attrs:
        kernel, slope = (rules.with_rank(shape, 4) for shape in ctx.inputs[1:])
        _, _, depth = windows.axes_of(ctx.attrs["data_format"])
        shapes.merge_dimension(slope[depth], kernel[3])
    return (rules.with_rank(rules.shape_in(ctx, 0), 4),)


def _same(op: Op) -> dict[str, Any]:
    """Return the attributes that the ops of one convolution share."""
    names = _DEPTHWISE if op.type.startswith("Depthwise") else _ATTRIBUTES
    return {name: op.get_attr(name) for name in names}


def _family(op: Op, raw: Raw) -> tuple[Any, Any, Any]:
    """Return the builders of the convolution, and of its gradients by input and by filter."""
    name = "DepthwiseConv2dNative" if op.type.startswith("Depthwise") else "Conv2D"
    return (
        getattr(raw, name),
        getattr(raw, f"{name}BackpropInput"),
        getattr(raw, f"{name}BackpropFilter"),
    )


def _conv(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    _, by_input, by_filter = _family(op, raw)
    (value, kernel), (grad,), same = op.inputs, grads, _same(op)
    return (
        by_input(raw.Shape(value), kernel, grad, **same),
        by_filter(value, raw.Shape(kernel), grad, **same),
    )


def _by_input(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    forward, _, by_filter = _family(op, raw)
    (_, kernel, slope), (grad,), same = op.inputs, grads, _same(op)
    return (
        None,
        by_filter(grad, raw.Shape(kernel), slope, **same),
        forward(grad, kernel, **same),
    )


def _by_filter(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    forward, by_input, _ = _family(op, raw)
    (value, _, slope), (grad,), same = op.inputs, grads, _same(op)
    return by_input(raw.Shape(value), grad, slope, **same), None, forward(value, grad, **same)


for _name, _attrs, _shape in (
    ("Conv2D", _ATTRIBUTES, _conv_shape),
    ("DepthwiseConv2dNative", _DEPTHWISE, _depthwise_shape),
):
    define(
        OpDef(
            _name,
            ("input: T", "filter: T"),
            ("output: T",),
            attrs=_attrs,
            choices=_CHOICES,
            shape=_shape,
            gradient=_conv,
            types=_TYPES,
        )
    )
    define(
        OpDef(
            f"{_name}BackpropInput",
            ("input_sizes: int32", "filter: T", "out_backprop: T"),
            ("output: T",),
            attrs=_attrs,
            choices=_CHOICES,
            shape=_input_shape,
            gradient=_by_input,
            types=_TYPES,
            host=("input_sizes",),
        )
    )
    define(
        OpDef(
            f"{_name}BackpropFilter",
            ("input: T", "filter_sizes: int32", "out_backprop: T"),
            ("output: T",),
            attrs=_attrs,
            choices=_CHOICES,
            shape=window_rules.shape_in(1, 4),
            gradient=_by_filter,
            types=_TYPES,
            host=("filter_sizes",),
        )
    )
