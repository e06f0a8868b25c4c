"""Rows of barriers (tensorflow/core/ops/data_flow_ops.cc)."""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_HANDLE = "handle: Ref(string)"
_MINIMA = {"component_types": 1}


def _reference(ctx: ShapeContext) -> rules.Shapes:
    return ((2,),)


def _inserted(ctx: ShapeContext) -> rules.Shapes:
    keys = shapes.with_rank(ctx.inputs[1], 1)
    values = shapes.with_rank_at_least(ctx.inputs[2], 1)
    shapes.merge(keys, None if values is None else values[:1])
    return ()


def _taken(ctx: ShapeContext) -> rules.Shapes:
    return (None,) * (2 + len(ctx.attrs["component_types"]))


define(
    OpDef(
        "Barrier",
        outputs=(_HANDLE,),
        attrs={
            "component_types": list,
            "shapes": [],
            "capacity": -1,
            "container": b"",
            "shared_name": b"",
        },
        shape=_reference,
        not_differentiable=True,
        minima=_MINIMA,
        effect=facts.MAKES,
        role=facts.Role.HANDLE,
    )
)
define(
    OpDef(
        "BarrierInsertMany",
        (_HANDLE, "keys: string", "values: T"),
        attrs={"component_index": int},
        shape=_inserted,
        not_differentiable=True,
        effect=facts.changes("handle") | facts.BLOCKS,
    )
)
define(
    OpDef(
        "BarrierTakeMany",
        (_HANDLE, "num_elements: int32"),
        ("indices: int64", "keys: string", "values: component_types"),
        attrs={
            "component_types": list,
            "allow_small_batch": False,
            "wait_for_incomplete": False,
            "timeout_ms": -1,
        },
        shape=_taken,
        not_differentiable=True,
        minima=_MINIMA,
        effect=facts.changes("handle") | facts.BLOCKS,
        host=("num_elements",),
    )
)
define(
    OpDef(
        "BarrierClose",
        (_HANDLE,),
        attrs={"cancel_pending_enqueues": False},
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("handle"),
    )
)
for _name in ("BarrierReadySize", "BarrierIncompleteSize"):
    define(
        OpDef(
            _name,
            (_HANDLE,),
            ("size: int32",),
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.reads("handle"),
        )
    )
