"""Rows of the ops on sets along the last axis (tensorflow/core/ops/set_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_TYPES = {
    "T": (
        dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
        dtypes.string,
    )
}  # fmt: skip
_SET = "indices: int64", "values: T", "shape: int64"


def _operation(ctx: ShapeContext) -> rules.Shapes:
    rank = None
    if len(ctx.inputs) == 2:
        known = [shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs]
        groups = shapes.merge(*(None if each is None else each[:-1] for each in known))
        rank = None if groups is None else len(groups) + 1
    return ((None, rank), (None,), (rank,))


def _size(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


for _name, _inputs in (
    ("DenseToDenseSetOperation", ("set1: T", "set2: T")),
    ("DenseToSparseSetOperation", ("set1: T", *(f"set2_{part}" for part in _SET))),
    (
        "SparseToSparseSetOperation",
        tuple(f"set{number}_{part}" for number in (1, 2) for part in _SET),
    ),
):
    define(
        OpDef(
            _name,
            _inputs,
            tuple(f"result_{part}" for part in _SET),
            attrs={"set_operation": bytes, "validate_indices": True},
            shape=_operation,
            types=_TYPES,
            not_differentiable=True,
        )
    )
define(
    OpDef(
        "SetSize",
        tuple(f"set_{part}" for part in _SET),
        ("size: int32",),
        attrs={"validate_indices": True},
        shape=_size,
        types=_TYPES,
        not_differentiable=True,
    )
)
