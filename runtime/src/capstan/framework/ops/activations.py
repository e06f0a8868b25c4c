"""Rows of activation functions, and of ops that choose elements of rows by their order.

Sources: core/ops/nn_ops.cc, python/ops/nn_grad.py.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _by_features(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (getattr(raw, f"{op.type}Grad")(grads[0], op.inputs[0]),)


def _by_outputs(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (getattr(raw, f"{op.type}Grad")(grads[0], op.outputs[0]),)


def _flat_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """The slope does not change with the features, except where it jumps."""
    return getattr(raw, op.type)(grads[0], op.inputs[1]), raw.ZerosLike(op.inputs[1])


def _elu_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (slope, outputs) = grads, op.inputs
    negative = raw.Less(outputs, 0)
    by_outputs = raw.Select(negative, raw.Mul(grad, slope), raw.ZerosLike(outputs))
    return getattr(raw, op.type)(grad, outputs), by_outputs


def _softplus_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (slope, x) = grads, op.inputs
    sigmoid = raw.Sigmoid(x)
    by_x = raw.Mul(raw.Mul(grad, slope), raw.Mul(sigmoid, raw.Sub(1, sigmoid)))
    return raw.SoftplusGrad(grad, x), by_x


def _softsign_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (slope, x) = grads, op.inputs
    base = raw.Add(raw.Abs(x), 1)
    cube = raw.Mul(raw.Mul(base, base), base)
    by_x = raw.Mul(raw.Mul(grad, slope), raw.RealDiv(raw.Mul(raw.Sign(x), -2), cube))
    return raw.SoftsignGrad(grad, x), by_x


for _name, _gradient, _second, _types in (
    ("Relu6", _by_outputs, _flat_grad, typesets.NUMERIC),
    ("Elu", _by_outputs, _elu_grad, typesets.FLOATING),
    ("Selu", _by_outputs, _elu_grad, typesets.FLOATING),
    ("Softplus", _by_features, _softplus_grad, typesets.FLOATING),
    ("Softsign", _by_features, _softsign_grad, typesets.FLOATING),
):
    define(
        OpDef(
            _name,
            ("features: T",),
            ("activations: T",),
            shape=rules.unchanged,
            gradient=_gradient,
            types={"T": _types},
        )
    )
    define(
        OpDef(
            f"{_name}Grad",
            ("gradients: T", "outputs: T" if _name in ("Elu", "Selu") else "features: T"),
            ("backprops: T",),
            shape=rules.merged,
            gradient=_second,
            types={"T": _types},
        )
    )


def _leaky(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.LeakyReluGrad(grads[0], op.inputs[0], alpha=op.get_attr("alpha")),)


def _leaky_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x = op.inputs[1]
    return raw.LeakyReluGrad(grads[0], x, alpha=op.get_attr("alpha")), raw.ZerosLike(x)


for _name, _inputs, _output, _gradient in (
    ("LeakyRelu", ("features: T",), "activations: T", _leaky),
    ("LeakyReluGrad", ("gradients: T", "features: T"), "backprops: T", _leaky_grad),
):
    define(
        OpDef(
            _name,
            _inputs,
            (_output,),
            attrs={"alpha": 0.2, "T": dtypes.float32},
            shape=rules.merged if len(_inputs) > 1 else rules.unchanged,
            gradient=_gradient,
            types={"T": typesets.FLOATING},
        )
    )


def _top_k_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, k = shapes.with_rank_at_least(ctx.inputs[0], 1), ctx.constant(1)
    if shape is None:
        return (None, None)
    count = None if k is None else int(k)
    if count is not None and shape[-1] is not None and shape[-1] < count:
        raise ValueError(f"input must have last dimension >= k = {count} but is {shape[-1]}")
    return ((*shape[:-1], count),) * 2


def from_largest(x: Any, places: Any, grad: Any, raw: Raw) -> Any:
    """Return the gradient of `x`: that of each chosen element of the last axis in its place.

    `places` has the indices of the chosen elements in their rows.
    """
    sizes = raw.Shape(x)
    width = raw.Reshape(raw.Slice(sizes, raw.Reshape(raw.Sub(raw.Rank(x), 1), [1]), [1]), [])
    k = raw.Reshape(
        raw.Slice(raw.Shape(places), raw.Reshape(raw.Sub(raw.Rank(x), 1), [1]), [1]), []
    )
    rows = raw.Reshape(places, raw.Pack([np.int32(-1), k]))
    starts = raw.Mul(raw.Range(np.int32(0), _first_size(raw, rows), np.int32(1)), width)
    flat = raw.Reshape(raw.Add(rows, raw.ExpandDims(starts, 1)), [-1])
    summed = raw.UnsortedSegmentSum(raw.Reshape(grad, [-1]), flat, raw.Size(x))
    return raw.Reshape(summed, sizes)


def _top_k(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return from_largest(op.inputs[0], op.outputs[1], grads[0], raw), None


def _first_size(raw: Raw, value: Any) -> Any:
    return raw.Reshape(raw.Slice(raw.Shape(value), [0], [1]), np.array([], np.int32))


define(
    OpDef(
        "TopKV2",
        ("input: T", "k: int32"),
        ("values: T", "indices: int32"),
        attrs={"sorted": True},
        shape=_top_k_shape,
        gradient=_top_k,
        types={"T": typesets.NUMERIC},
        host=("k",),
    )
)


def _nth_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, given = shapes.with_rank_at_least(ctx.inputs[0], 1), ctx.constant(1)
    if given is not None:
        if given.ndim:
            raise ValueError(f"Input must be scalar but has rank {given.ndim}")
        n = int(given)
        if n < 0:
            raise ValueError(
                f"Dimension size, given by scalar input 1, must be non-negative but is {n}"
            )
        if shape is not None and shape[-1] is not None and shape[-1] <= n:
            raise ValueError(f"Input must have last dimension > n = {n} but is {shape[-1]}")
    return (None if shape is None else shape[:-1],)


def _nth(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Divide the gradient of the element among all elements of its row that equal it."""
    last = np.array([-1], np.int32)
    found, grad = (raw.ExpandDims(each, -1) for each in (op.outputs[0], grads[0]))
    is_equal = raw.Cast(raw.Equal(found, op.inputs[0]), DstT=grad.dtype)
    return raw.Mul(raw.Div(is_equal, raw.Sum(is_equal, last, keep_dims=True)), grad), None


define(
    OpDef(
        "NthElement",
        ("input: T", "n: int32"),
        ("values: T",),
        attrs={"reverse": False},
        shape=_nth_shape,
        gradient=_nth,
        types={"T": typesets.NUMERIC},
        host=("n",),
    )
)
