"""Rows of ops on tensors of quantized types (core/ops/{array,math,nn}_ops.cc).

Such a tensor has the levels of a range of numbers. The limits of the range are two scalars beside
it. The ops return limits, too.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import opdef
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules, typesets

_QUANTIZED = typesets.QUANTIZED
_MODES = (b"MIN_COMBINED", b"MIN_FIRST", b"SCALED")


def _with_limits(shape: ShapeRule, scalars: Sequence[int]) -> ShapeRule:
    """Return the rule of an op with a tensor and its two limits. Inputs `scalars` are scalars."""

    def rule(ctx: ShapeContext) -> rules.Shapes:
        result = shape(ctx)
        for index in scalars:
            shapes.with_rank(ctx.inputs[index], 0)
        return (*result, (), ())

    return rule


def _like(op: str, count: int) -> ShapeRule:
    """Return the rule of another op for the first `count` inputs."""

    def rule(ctx: ShapeContext) -> rules.Shapes:
        row = opdef.lookup(op)
        attrs = {**row.attrs, **ctx.attrs}
        assert row.shape is not None
        return row.shape(dataclasses.replace(ctx, inputs=ctx.inputs[:count], attrs=attrs))

    return rule


def _define(
    name: str,
    inputs: Sequence[str],
    output: str,
    shape: ShapeRule,
    attrs: dict[str, Any] | None = None,
    choices: Mapping[str, tuple[bytes, ...]] | None = None,
    host: tuple[str, ...] = (),
) -> None:
    """Define an op with a tensor and its limits as outputs: `output` is "name: type, low, high".

    The inputs without a type are limits.
    """
    tensor, low, high = output.split(", ")
    arguments = [text if ":" in text else f"{text}: float32" for text in inputs]
    limits = [index for index, text in enumerate(inputs) if ":" not in text]
    # A dictionary, unlike a set, has the same order in each process.
    kinds = dict.fromkeys(text.rpartition(" ")[2] for text in (*arguments, tensor))
    used = [kind for kind in kinds if kind not in ("float32", "int32")]
    define(
        OpDef(
            name,
            tuple(arguments),
            (tensor, f"{low}: float32", f"{high}: float32"),
            attrs=attrs or {},
            shape=_with_limits(shape, limits),
            types={kind: _QUANTIZED for kind in used if kind != "Tshape"},
            choices=choices or {},
            host=host,
        )
    )


_define(
    "QuantizeV2",
    ("input: float32", "min_range", "max_range"),
    "output: T, output_min, output_max",
    rules.unchanged,
    attrs={
        "T": dtypes.DType,
        "mode": b"MIN_COMBINED",
        "round_mode": b"HALF_AWAY_FROM_ZERO",
        # The others are since TensorFlow 2.2.
        "narrow_range": False,
        "axis": -1,
        "ensure_minimum_range": 0.01,
    },
    choices={"mode": _MODES, "round_mode": (b"HALF_AWAY_FROM_ZERO", b"HALF_TO_EVEN")},
)


def _one_of_scalars(ctx: ShapeContext) -> rules.Shapes:
    for limit in ctx.inputs[1:]:
        shapes.with_rank(limit, 0)
    return (ctx.inputs[0],)


define(
    OpDef(
        "Dequantize",
        ("input: T", "min_range: float32", "max_range: float32"),
        ("output: dtype",),
        attrs={"mode": b"MIN_COMBINED", "narrow_range": False, "axis": -1, "dtype": dtypes.float32},
        shape=_one_of_scalars,
        types={"T": _QUANTIZED, "dtype": (dtypes.bfloat16, dtypes.float32)},
        choices={"mode": _MODES},
    )
)


def _concat_shape(ctx: ShapeContext) -> rules.Shapes:
    count = (len(ctx.inputs) - 1) // 3
    for limit in ctx.inputs[1 + count :]:
        shapes.with_rank(limit, 0)
    row = opdef.lookup("ConcatV2")  # Its axis is the last input.
    assert row.shape is not None
    axis = ctx.constant(0)
    values = dataclasses.replace(
        ctx,
        inputs=(*ctx.inputs[1 : 1 + count], ctx.inputs[0]),
        constants={} if axis is None else {count: axis},
    )
    return (*row.shape(values), (), ())


define(
    OpDef(
        "QuantizedConcat",
        (
            *("concat_dim: int32", "values: N * T"),
            *("input_mins: N * float32", "input_maxes: N * float32"),
        ),
        ("output: T", "output_min: float32", "output_max: float32"),
        shape=_concat_shape,
        minima={"N": 2},
        host=("concat_dim",),
    )
)
define(
    OpDef(
        "QuantizedReshape",
        ("tensor: T", "shape: Tshape", "input_min: float32", "input_max: float32"),
        ("output: T", "output_min: float32", "output_max: float32"),
        attrs={"Tshape": dtypes.int32},
        shape=_with_limits(_like("Reshape", 2), (2, 3)),
        types={"Tshape": typesets.INDEX},
        host=("shape",),
    )
)


def _images(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 4),)


_define(
    "QuantizedInstanceNorm",
    ("x: T", "x_min", "x_max"),
    "y: T, y_min, y_max",
    _images,
    attrs={
        "output_range_given": False,
        "given_y_min": 0.0,
        "given_y_max": 0.0,
        "variance_epsilon": 1e-5,
        "min_separation": 1e-3,
    },
)
_define(
    "QuantizedMatMul",
    ("a: T1", "b: T2", "min_a", "max_a", "min_b", "max_b"),
    "out: Toutput, min_out, max_out",
    _like("MatMul", 2),
    attrs={
        "Toutput": dtypes.qint32,
        "transpose_a": False,
        "transpose_b": False,
        "Tactivation": dtypes.quint8,
    },
)
for _name in ("QuantizedMul", "QuantizedAdd"):
    _define(
        _name,
        ("x: T1", "y: T2", "min_x", "max_x", "min_y", "max_y"),
        "z: Toutput, min_z, max_z",
        _like("Mul", 2),
        attrs={"Toutput": dtypes.qint32},
    )
_define(
    "QuantizeDownAndShrinkRange",
    ("input: Tinput", "input_min", "input_max"),
    "output: out_type, output_min, output_max",
    rules.unchanged,
    attrs={"out_type": dtypes.DType},
)
_define(
    "Requantize",
    ("input: Tinput", "input_min", "input_max", "requested_output_min", "requested_output_max"),
    "output: out_type, output_min, output_max",
    rules.unchanged,
    attrs={"out_type": dtypes.DType},
)


def _range_shape(ctx: ShapeContext) -> rules.Shapes:
    for limit in ctx.inputs[1:]:
        shapes.with_rank(limit, 0)
    return ((), ())


define(
    OpDef(
        "RequantizationRange",
        ("input: Tinput", "input_min: float32", "input_max: float32"),
        ("output_min: float32", "output_max: float32"),
        shape=_range_shape,
        types={"Tinput": _QUANTIZED},
    )
)
_PADDINGS = {"padding": (b"SAME", b"VALID")}
for _name in ("AvgPool", "MaxPool"):
    _define(
        f"Quantized{_name}",
        ("input: T", "min_input", "max_input"),
        "output: T, min_output, max_output",
        _like(_name, 1),
        attrs={"ksize": list, "strides": list, "padding": bytes},
        choices=_PADDINGS,
    )
_define(
    "QuantizedBiasAdd",
    ("input: T1", "bias: T2", "min_input", "max_input", "min_bias", "max_bias"),
    "output: out_type, min_out, max_out",
    _like("BiasAdd", 2),
    attrs={"out_type": dtypes.DType},
)
_define(
    "QuantizedConv2D",
    ("input: Tinput", "filter: Tfilter", "min_input", "max_input", "min_filter", "max_filter"),
    "output: out_type, min_output, max_output",
    _like("Conv2D", 2),
    attrs={
        "out_type": dtypes.qint32,
        "strides": list,
        "padding": bytes,
        "dilations": [1, 1, 1, 1],
    },
    choices=_PADDINGS,
)
for _name, _more in (("Relu", ()), ("Relu6", ()), ("ReluX", ("max_value",))):
    _define(
        f"Quantized{_name}",
        ("features: Tinput", *_more, "min_features", "max_features"),
        "activations: out_type, min_activations, max_activations",
        rules.unchanged,
        attrs={"out_type": dtypes.quint8},
    )


def _normalized_shape(ctx: ShapeContext) -> rules.Shapes:
    images = rules.with_rank(ctx.inputs[0], 4)
    depth: shapes.Shape = images[3:]
    for index in (3, 6, 9, 12):
        depth = shapes.merge(depth, shapes.with_rank(ctx.inputs[index], 1))
    return ((*images[:3], *(depth or (None,))),)


_define(
    "QuantizedBatchNormWithGlobalNormalization",
    tuple(
        text
        for name in ("t", "m", "v", "beta", "gamma")
        for text in (f"{name}: Tinput", f"{name}_min", f"{name}_max")
    ),
    "result: out_type, result_min, result_max",
    _normalized_shape,
    attrs={
        "out_type": dtypes.DType,
        "variance_epsilon": float,
        "scale_after_normalization": bool,
    },
)
