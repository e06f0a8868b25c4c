"""Rows of the ops that keep sparse tensors for a later step (core/ops/sparse_ops.cc).

A node names its map by attributes, and no tensor stands for the map.
"""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_NAMED: dict[str, Any] = {"container": b"", "shared_name": b""}
_PARTS = ("sparse_indices: int64", "sparse_values: T", "sparse_shape: int64")


def _check(ctx: ShapeContext) -> None:
    for shape, rank in zip(ctx.inputs, (2, 1, 1), strict=True):
        shapes.with_rank(shape, rank)


def _one(ctx: ShapeContext) -> rules.Shapes:
    _check(ctx)
    return ((),)


def _many(ctx: ShapeContext) -> rules.Shapes:
    _check(ctx)
    return ((None,),)


def _taken(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 1)
    return ((None, None), (None,), (None,))


for _name, _output, _rule in (
    ("AddSparseToTensorsMap", "sparse_handle: int64", _one),
    ("AddManySparseToTensorsMap", "sparse_handles: int64", _many),
):
    define(
        OpDef(
            _name,
            _PARTS,
            (_output,),
            attrs=_NAMED,
            shape=_rule,
            not_differentiable=True,
            effect=facts.EXTERNAL,
        )
    )
define(
    OpDef(
        "TakeManySparseFromTensorsMap",
        ("sparse_handles: int64",),
        ("sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"),
        attrs={"dtype": dtypes.DType, **_NAMED},
        shape=_taken,
        not_differentiable=True,
        effect=facts.EXTERNAL,
    )
)
