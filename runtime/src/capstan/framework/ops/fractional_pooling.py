"""Rows of pools whose windows have random sizes (core/ops/nn_ops.cc, python/ops/nn_grad.py)."""

import math
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.framework import facts
from capstan.framework.opdef import Floats, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, window_rules

_TYPES = {"T": (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)}
_SEQUENCES = ("row_pooling_sequence: int64", "col_pooling_sequence: int64")


def _pool_shape(ctx: ShapeContext) -> rules.Shapes:
    """A sequence has the edges of the windows, one more than there are windows.

    TensorFlow's rule gives a sequence as many elements as there are windows.
    """
    value, ratios = rules.with_rank(ctx.inputs[0], 4), ctx.attrs["pooling_ratio"]
    if len(ratios) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    for ratio in ratios:
        if not ratio >= 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {ratio}")
    sizes = tuple(
        None if size is None else math.floor(np.float32(size) / np.float32(ratio))
        for size, ratio in zip(value, ratios, strict=True)
    )
    rows, columns = (None if count is None else count + 1 for count in sizes[1:3])
    return sizes, (rows,), (columns,)


def _unchanged(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 4),)


def _largest(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    overlapping = op.get_attr("overlapping")
    found, *edges = op.outputs
    return (
        raw.FractionalMaxPoolGrad(op.inputs[0], found, grads[0], *edges, overlapping=overlapping),
    )


def _mean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    shape = raw.Shape(op.inputs[0], out_type=dtypes.int64)
    overlapping = op.get_attr("overlapping")
    return (raw.FractionalAvgPoolGrad(shape, grads[0], *op.outputs[1:], overlapping=overlapping),)


_ATTRIBUTES: dict[str, Any] = {
    "pooling_ratio": Floats,
    "pseudo_random": False,
    "overlapping": False,
    "deterministic": False,
    "seed": 0,
    "seed2": 0,
}
for _name, _gradient in (("FractionalMaxPool", _largest), ("FractionalAvgPool", _mean)):
    define(
        OpDef(
            _name,
            ("value: T",),
            ("output: T", *_SEQUENCES),
            attrs=_ATTRIBUTES,
            shape=_pool_shape,
            gradient=_gradient,
            types=_TYPES,
            minima={"pooling_ratio": 4},
            effect=facts.RANDOM,
        )
    )
define(
    OpDef(
        "FractionalMaxPoolGrad",
        ("orig_input: T", "orig_output: T", "out_backprop: T", *_SEQUENCES),
        ("output: T",),
        attrs={"overlapping": False},
        shape=_unchanged,
        types=_TYPES,
    )
)
define(
    OpDef(
        "FractionalAvgPoolGrad",
        ("orig_input_tensor_shape: int64", "out_backprop: T", *_SEQUENCES),
        ("output: T",),
        attrs={"overlapping": False},
        shape=window_rules.shape_in(0, 4),
        types=_TYPES,
    )
)
