"""Rows of the ops that join and split sparse tensors (core/ops/sparse_ops.cc)."""

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _joined(ctx: ShapeContext) -> rules.Shapes:
    count = len(ctx.inputs) // 3
    total: int | None = 0
    columns: int | None = None
    shape: shapes.Shape = None
    for indices, values, sizes in zip(
        ctx.inputs[:count], ctx.inputs[count : 2 * count], ctx.inputs[2 * count :], strict=True
    ):
        (height, width), (length,) = rules.with_rank(indices, 2), rules.with_rank(values, 1)
        known = shapes.merge_dimension(height, length)
        total = None if total is None or known is None else total + known
        columns = shapes.merge_dimension(columns, width)
        shape = shapes.merge(shape, rules.with_rank(sizes, 1))
    return ((total, columns), (total,), shape)


def _split(ctx: ShapeContext) -> rules.Shapes:
    shape = rules.with_rank(ctx.inputs[3], 1)
    count: int = ctx.attrs["num_split"]
    return (*((None, shape[0]),) * count, *((None,),) * count, *(shape,) * count)


define(
    OpDef(
        "SparseConcat",
        ("indices: N * int64", "values: N * T", "shapes: N * int64"),
        ("output_indices: int64", "output_values: T", "output_shape: int64"),
        attrs={"concat_dim": int, "N": int},
        minima={"N": 2},
        shape=_joined,
        not_differentiable=True,
        host=("shapes", "output_shape"),
    )
)
define(
    OpDef(
        "SparseSplit",
        ("split_dim: int64", "indices: int64", "values: T", "shape: int64"),
        (
            "output_indices: num_split * int64", "output_values: num_split * T",
            "output_shape: num_split * int64",
        ),
        attrs={"num_split": int},
        minima={"num_split": 1},
        shape=_split,
        host=("split_dim", "shape", "output_shape"),
    )
)  # fmt: skip
