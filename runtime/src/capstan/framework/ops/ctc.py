"""Rows of connectionist temporal classification (core/ops/ctc_ops.cc, python/ops/ctc_ops.py)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_TYPES = {"T": typesets.WIDE}


def _loss_shape(ctx: ShapeContext) -> rules.Shapes:
    time, batch, classes = rules.with_rank(ctx.inputs[0], 3)
    rows, _ = rules.with_rank(ctx.inputs[1], 2)
    (count,) = rules.with_rank(ctx.inputs[2], 1)
    shapes.merge_dimension(rows, count)
    (lengths,) = rules.with_rank(ctx.inputs[3], 1)
    batch = shapes.merge_dimension(batch, lengths)
    return ((batch,), (time, batch, classes))


def _decoded_shape(ctx: ShapeContext) -> rules.Shapes:
    _, batch, _ = rules.with_rank(ctx.inputs[0], 3)
    (lengths,) = rules.with_rank(ctx.inputs[1], 1)
    return ((None, 2), (None,), (2,), (shapes.merge_dimension(batch, lengths), 1))


def _loss(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    message = (
        "Currently there is no way to take the second  derivative of ctc_loss due to the fused "
        "implementation's interaction  with tf.gradients()"
    )
    slope = raw.PreventGradient(op.outputs[1], message=message)
    return raw.Mul(raw.ExpandDims(grads[0], -1), slope), None, None, None


define(
    OpDef(
        "CTCLoss",
        (
            *("inputs: T", "labels_indices: int64", "labels_values: int32"),
            "sequence_length: int32",
        ),
        ("loss: T", "gradient: T"),
        attrs={
            "preprocess_collapse_repeated": False,
            "ctc_merge_repeated": True,
            "ignore_longer_outputs_than_inputs": False,
            "T": dtypes.float32,
        },
        shape=_loss_shape,
        gradient=_loss,
        types=_TYPES,
    )
)
define(
    OpDef(
        "CTCGreedyDecoder",
        ("inputs: T", "sequence_length: int32"),
        (
            *("decoded_indices: int64", "decoded_values: int64", "decoded_shape: int64"),
            "log_probability: T",
        ),
        attrs={"merge_repeated": False, "T": dtypes.float32},
        shape=_decoded_shape,
        types=_TYPES,
        not_differentiable=True,
    )
)
