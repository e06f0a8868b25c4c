"""Rows of the ops that keep sparse tensors as strings or variants (core/ops/sparse_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _single(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 2)
    return ((3,),)


def _many(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 2)
    return ((None, 3),)


def _restored(ctx: ShapeContext) -> rules.Shapes:
    _, parts = rules.with_rank(ctx.inputs[0], 2)
    if parts not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {parts}")
    return ((None, None), (None,), (None,))


def _any_restored(ctx: ShapeContext) -> rules.Shapes:
    return ((None, None), (None,), (None,))


for _name, _rule in (("SerializeSparse", _single), ("SerializeManySparse", _many)):
    define(
        OpDef(
            _name,
            ("sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"),
            ("serialized_sparse: out_type",),
            attrs={"out_type": dtypes.string},
            shape=_rule,
            not_differentiable=True,
            types={"out_type": (dtypes.string, dtypes.variant)},
        )
    )
define(
    OpDef(
        "DeserializeManySparse",
        ("serialized_sparse: string",),
        ("sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"),
        attrs={"dtype": dtypes.DType},
        shape=_restored,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "DeserializeSparse",
        ("serialized_sparse: Tserialized",),
        ("sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"),
        attrs={"dtype": dtypes.DType, "Tserialized": dtypes.string},
        shape=_any_restored,
        not_differentiable=True,
        types={"Tserialized": (dtypes.string, dtypes.variant)},
    )
)
