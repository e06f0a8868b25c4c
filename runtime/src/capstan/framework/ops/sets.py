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


def _sparse(rank: int | None) -> rules.Shapes:
    """Return the shapes of the three parts of a sparse tensor."""
    return (None, rank), (None,), (rank,)


def _rank(indices: shapes.Shape, values: shapes.Shape, shape: shapes.Shape) -> int | None:
    """Return the rank of a sparse tensor of these parts. As in TensorFlow, `shape` has it."""
    count, width = rules.with_rank(indices, 2)
    (length,) = rules.with_rank(values, 1)
    (rank,) = rules.with_rank(shape, 1)
    if None not in (count, length) and count != length:
        raise ValueError(
            f"Number of elements in index ({count}) and values ({length}) do not match."
        )
    if None not in (rank, width) and rank != width:
        raise ValueError(f"Index rank ({width}) and shape rank ({rank}) do not match.")
    return rank


def _of_dense(ctx: ShapeContext) -> rules.Shapes:
    known = [shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs]
    groups = shapes.merge(*(None if each is None else each[:-1] for each in known))
    return _sparse(None if groups is None else len(groups) + 1)


def _of_dense_and_sparse(ctx: ShapeContext) -> rules.Shapes:
    dense, *parts = ctx.inputs
    rank = shapes.rank(shapes.with_rank_at_least(dense, 2))
    return _sparse(shapes.merge_dimension(rank, _rank(*parts)))


def _of_sparse(ctx: ShapeContext) -> rules.Shapes:
    return _sparse(shapes.merge_dimension(_rank(*ctx.inputs[:3]), _rank(*ctx.inputs[3:])))


def _size(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


for _name, _inputs, _shape in (
    ("DenseToDenseSetOperation", ("set1: T", "set2: T"), _of_dense),
    (
        "DenseToSparseSetOperation",
        ("set1: T", *(f"set2_{part}" for part in _SET)),
        _of_dense_and_sparse,
    ),
    (
        "SparseToSparseSetOperation",
        tuple(f"set{number}_{part}" for number in (1, 2) for part in _SET),
        _of_sparse,
    ),
):
    define(
        OpDef(
            _name,
            _inputs,
            tuple(f"result_{part}" for part in _SET),
            attrs={"set_operation": bytes, "validate_indices": True},
            shape=_shape,
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
