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


def _searched_shape(ctx: ShapeContext) -> rules.Shapes:
    _, batch, _ = rules.with_rank(ctx.inputs[0], 3)
    (lengths,) = rules.with_rank(ctx.inputs[1], 1)
    paths = ctx.attrs["top_paths"]
    parts = [(None, 2)] * paths + [(None,)] * paths + [(2,)] * paths
    return (*parts, (shapes.merge_dimension(batch, lengths), paths))


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
        "CTCLossV2",
        (
            *("inputs: float32", "labels_indices: int64", "labels_values: int32"),
            "sequence_length: int32",
        ),
        ("loss: float32", "gradient: float32"),
        attrs={
            "preprocess_collapse_repeated": False,
            "ctc_merge_repeated": True,
            "ignore_longer_outputs_than_inputs": False,
        },
        shape=_loss_shape,
        gradient=_loss,
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
define(
    OpDef(
        "CTCBeamSearchDecoder",
        ("inputs: T", "sequence_length: int32"),
        (
            "decoded_indices: top_paths * int64", "decoded_values: top_paths * int64",
            "decoded_shape: top_paths * int64", "log_probability: T",
        ),
        attrs={"beam_width": int, "top_paths": int, "merge_repeated": True, "T": dtypes.float32},
        minima={"beam_width": 1, "top_paths": 1},
        shape=_searched_shape,
        types=_TYPES,
        not_differentiable=True,
    )
)  # fmt: skip
