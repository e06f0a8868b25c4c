"""Rows of neural network ops, and of MatMul."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, unbroadcast

_FLOAT = {"T": typesets.FLOATING}


def _matmul_shape(ctx: ShapeContext) -> rules.Shapes:
    a, b = (rules.with_rank(shape, 2) for shape in ctx.inputs)
    if ctx.attrs["transpose_a"]:
        a = a[::-1]
    if ctx.attrs["transpose_b"]:
        b = b[::-1]
    shapes.merge_dimension(a[1], b[0])
    return ((a[0], b[1]),)


def _matmul(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (a, b) = grads, rules.conjugates(op, raw)
    matmul = raw.MatMul
    match op.get_attr("transpose_a"), op.get_attr("transpose_b"):
        case False, False:
            return matmul(grad, b, transpose_b=True), matmul(a, grad, transpose_a=True)
        case False, True:
            return matmul(grad, b), matmul(grad, a, transpose_a=True)
        case True, False:
            return matmul(b, grad, transpose_b=True), matmul(a, grad)
        case _:
            return (
                matmul(b, grad, transpose_a=True, transpose_b=True),
                matmul(grad, a, transpose_a=True, transpose_b=True),
            )


_FORMATS = {"data_format": (b"NHWC", b"NCHW")}


def _bias_axis(data_format: bytes | str) -> int:
    return 1 if data_format in (b"NCHW", "NCHW") else -1


def _bias_add_shape(ctx: ShapeContext) -> rules.Shapes:
    value, (size,) = shapes.with_rank_at_least(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 1)
    if value is None:
        return (None,)
    axis = _bias_axis(ctx.attrs["data_format"]) % len(value)
    return ((*value[:axis], shapes.merge_dimension(value[axis], size), *value[axis + 1 :]),)


def _bias_add(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return grad, raw.BiasAddGrad(grad, data_format=op.get_attr("data_format"))


def _bias_grad_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = shapes.with_rank_at_least(ctx.inputs[0], 2)
    return ((None if shape is None else shape[_bias_axis(ctx.attrs["data_format"])],),)


def _bias_add_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (value,) = grads, op.inputs
    if _bias_axis(op.get_attr("data_format")) == 1:
        trailing = raw.OnesLike(raw.Slice(raw.Shape(value), [2], [-1]))
        grad = raw.Reshape(grad, raw.ConcatV2([raw.Shape(grad), trailing], 0))
    return (raw.BroadcastTo(grad, raw.Shape(value)),)


def _relu(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.ReluGrad(grads[0], op.outputs[0]),)


def _relu_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    features = op.inputs[1]
    return raw.ReluGrad(grads[0], features), raw.ZerosLike(features)


def _at_least_vector(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.with_rank_at_least(ctx.inputs[0], 1),)


def _softmax(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), y = grads, op.outputs[0]
    return (raw.Mul(raw.Sub(grad, raw.Sum(raw.Mul(grad, y), [-1], keep_dims=True)), y),)


def _log_softmax(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), y = grads, op.outputs[0]
    return (raw.Sub(grad, raw.Mul(raw.Sum(grad, [-1], keep_dims=True), raw.Exp(y))),)


def _dense_loss_shape(ctx: ShapeContext) -> rules.Shapes:
    known = shapes.broadcast(*ctx.inputs)
    known = (None, None) if known is None else known
    if len(known) != 2:
        raise ValueError(f"Shape must be broadcasted with rank 2, but is rank {len(known)}")
    return known[:1], known


def _sparse_loss_shape(ctx: ShapeContext) -> rules.Shapes:
    logits, (labels,) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 1)
    batch = shapes.merge_dimension(logits[0], labels)
    return (batch,), (batch, logits[1])


def _loss_by_logits(logits: Any, op: Op, grads: Gradients, raw: Raw) -> Any:
    """Return the gradient by the logits.

    Output 1 of the op is the gradient of the losses by the logits. The derivative of output 1 by
    the logits is the derivative of the softmax.
    """
    by_loss, by_slope = grads
    slope = op.outputs[1]
    total = None
    if by_loss is not None:
        total = raw.Mul(raw.ExpandDims(by_loss, -1), slope)
    if by_slope is not None:
        softmax = raw.Softmax(logits)
        mean = raw.Sum(raw.Mul(by_slope, softmax), [-1], keep_dims=True)
        second = raw.Mul(raw.Sub(by_slope, mean), softmax)
        total = second if total is None else raw.Add(total, second)
    return total


def _dense_loss(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # Shapes that are unknown count as equal, as in TensorFlow.
    axes = unbroadcast.repeated_axes(*(each.shape.internal for each in op.inputs))
    is_broadcast = axes not in (None, ([], []))
    logits, by_labels = op.inputs[0], None
    if is_broadcast:
        logits = raw.BroadcastTo(logits, raw.Shape(op.outputs[1]))
    if grads[0] is not None:
        log_softmax = raw.Neg(raw.LogSoftmax(logits))
        by_labels = raw.Mul(raw.ExpandDims(grads[0], -1), log_softmax)
    if grads[1] is not None:
        slope = raw.Neg(grads[1])
        by_labels = slope if by_labels is None else raw.Add(by_labels, slope)
    found = _loss_by_logits(logits, op, grads, raw), by_labels
    return tuple(unbroadcast.summed(op, found, raw)) if is_broadcast else found


def _sparse_loss(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _loss_by_logits(op.inputs[0], op, grads, raw), None


def _l2_loss(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.Mul(op.inputs[0], grads[0]),)


def _in_top_k_shape(ctx: ShapeContext) -> rules.Shapes:
    predictions, (targets,) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 1)
    return ((shapes.merge_dimension(predictions[0], targets),),)


define(
    OpDef(
        "MatMul",
        ("a: T", "b: T"),
        ("product: T",),
        attrs={"transpose_a": False, "transpose_b": False, "grad_a": False, "grad_b": False},
        shape=_matmul_shape,
        gradient=_matmul,
        types={"T": typesets.FIELD},
    )
)
define(
    OpDef(
        "BiasAdd",
        ("value: T", "bias: T"),
        ("output: T",),
        attrs={"data_format": b"NHWC"},
        choices=_FORMATS,
        shape=_bias_add_shape,
        gradient=_bias_add,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "BiasAddGrad",
        ("out_backprop: T",),
        ("output: T",),
        attrs={"data_format": b"NHWC"},
        choices=_FORMATS,
        shape=_bias_grad_shape,
        gradient=_bias_add_grad,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "Relu",
        ("features: T",),
        ("activations: T",),
        shape=rules.unchanged,
        gradient=_relu,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "ReluGrad",
        ("gradients: T", "features: T"),
        ("backprops: T",),
        shape=rules.merged,
        gradient=_relu_grad,
        types={"T": typesets.NUMERIC},
    )
)
for _name, _gradient in (("Softmax", _softmax), ("LogSoftmax", _log_softmax)):
    define(
        OpDef(
            _name,
            ("logits: T",),
            (f"{_name.lower()}: T",),
            shape=_at_least_vector,
            gradient=_gradient,
            types=_FLOAT,
        )
    )
define(
    OpDef(
        "SoftmaxCrossEntropyWithLogits",
        ("features: T", "labels: T"),
        ("loss: T", "backprop: T"),
        shape=_dense_loss_shape,
        gradient=_dense_loss,
        types=_FLOAT,
    )
)
define(
    OpDef(
        "SparseSoftmaxCrossEntropyWithLogits",
        ("features: T", "labels: Tlabels"),
        ("loss: T", "backprop: T"),
        attrs={"Tlabels": dtypes.int64},
        shape=_sparse_loss_shape,
        gradient=_sparse_loss,
        types={**_FLOAT, "Tlabels": typesets.INDEX},
    )
)
define(
    OpDef("L2Loss", ("t: T",), ("output: T",), shape=rules.scalar, gradient=_l2_loss, types=_FLOAT)
)
define(
    OpDef(
        "InTopK",
        ("predictions: float32", "targets: T"),
        ("precision: bool",),
        attrs={"k": int, "T": dtypes.int32},
        shape=_in_top_k_shape,
        not_differentiable=True,
        types={"T": typesets.INDEX},
    )
)
define(
    OpDef(
        "InTopKV2",
        ("predictions: float32", "targets: T", "k: T"),
        ("precision: bool",),
        attrs={"T": dtypes.int32},
        shape=_in_top_k_shape,
        not_differentiable=True,
        types={"T": typesets.INDEX},
        host=("k",),
    )
)
