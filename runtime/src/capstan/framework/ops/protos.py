"""Rows of the ops that read and write protocol buffers (core/ops/{decode,encode}_proto_ops.cc)."""

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _decoded(ctx: ShapeContext) -> rules.Shapes:
    names, types = ctx.attrs["field_names"], ctx.attrs["output_types"]
    if len(names) != len(types):
        raise ValueError("field_names and output_types attributes must have the same length")
    batch = ctx.inputs[0]
    return [
        shapes.concatenate(batch, (len(names),)),
        *[shapes.concatenate(batch, (None,))] * len(types),
    ]


def _encoded(ctx: ShapeContext) -> rules.Shapes:
    sizes = shapes.with_rank_at_least(ctx.inputs[0], 1)
    batch = None if sizes is None else sizes[:-1]
    for values in ctx.inputs[1:]:
        shapes.with_rank_at_least(values, 1)
        batch = shapes.merge(batch, None if values is None else values[:-1])
    return [batch]


define(
    OpDef(
        "DecodeProtoV2",
        ("bytes: string",),
        ("sizes: int32", "values: output_types"),
        attrs={
            "message_type": bytes,
            "field_names": list,
            "output_types": list,
            "descriptor_source": b"local://",
            "message_format": b"binary",
            "sanitize": False,
        },
        shape=_decoded,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "EncodeProto",
        ("sizes: int32", "values: Tinput_types"),
        ("bytes: string",),
        attrs={
            "field_names": list,
            "message_type": bytes,
            "descriptor_source": b"local://",
            "Tinput_types": list,
        },
        minima={"Tinput_types": 1},
        shape=_encoded,
        not_differentiable=True,
    )
)
