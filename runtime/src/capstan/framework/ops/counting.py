"""Rows of ops that count integers, for all elements or for each row.

Sources: core/ops/{math_ops,count_ops}.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_COUNTS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _bins(ctx: ShapeContext, at: int) -> int | None:
    """Return the number of bins, which input `at` holds."""
    shapes.with_rank(ctx.inputs[at], 0)
    size = ctx.constant(at)
    if size is None:
        return None
    if size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    return int(size)


def _dense(ctx: ShapeContext) -> rules.Shapes:
    values, bins = ctx.inputs[0], _bins(ctx, 1)
    if values is None:
        return (None,)
    if len(values) > 2:
        raise ValueError(f"Shape must be at most rank 2 but is rank {len(values)}")
    return ((*values[:-1], bins),)


def _sparse(ctx: ShapeContext) -> rules.Shapes:
    (rank,) = rules.with_rank(ctx.inputs[2], 1)
    bins, sizes = _bins(ctx, 3), ctx.constant(2)
    if rank is None:
        return (None,)
    if rank == 1:
        return ((bins,),)
    return ((None if sizes is None else int(sizes[0]), bins),)


def _ragged(ctx: ShapeContext) -> rules.Shapes:
    (ends,) = rules.with_rank(ctx.inputs[0], 1)
    return ((None if ends is None else ends - 1, _bins(ctx, 2)),)


def _listed(ctx: ShapeContext) -> rules.Shapes:
    """Return the shapes of a sparse tensor of the rank of the values."""
    values = ctx.inputs[0]
    rank = None if values is None else len(values)
    return (None, rank), (None,), (rank,)


def _listed_from_sparse(ctx: ShapeContext) -> rules.Shapes:
    (rank,) = rules.with_rank(ctx.inputs[2], 1)
    return (None, rank), (None,), (rank,)


def _listed_from_ragged(ctx: ShapeContext) -> rules.Shapes:
    return (None, 2), (None,), (2,)


_LAYOUTS = (
    ("Dense", ("input: Tidx",), _dense),
    ("Sparse", ("indices: int64", "values: Tidx", "dense_shape: int64"), _sparse),
    ("Ragged", ("splits: int64", "values: Tidx"), _ragged),
)
for _layout, _values, _rule in _LAYOUTS:
    define(
        OpDef(
            f"{_layout}Bincount",
            (*_values, "size: Tidx", "weights: T"),
            ("output: T",),
            attrs={"binary_output": False},
            shape=_rule,
            not_differentiable=True,
            types={"Tidx": typesets.INDEX, "T": _COUNTS},
            host=("size", "dense_shape") if _layout == "Sparse" else ("size",),
        )
    )
for _layout, _values, _rule in (
    ("Dense", ("values: T",), _listed),
    ("Sparse", ("indices: int64", "values: T", "dense_shape: int64"), _listed_from_sparse),
    ("Ragged", ("splits: int64", "values: T"), _listed_from_ragged),
):
    define(
        OpDef(
            f"{_layout}CountSparseOutput",
            (*_values, "weights: output_type"),
            ("output_indices: int64", "output_values: output_type", "output_dense_shape: int64"),
            attrs={"minlength": -1, "maxlength": -1, "binary_output": bool},
            shape=_rule,
            not_differentiable=True,
            types={"T": typesets.INDEX, "output_type": _COUNTS},
            minima={"minlength": -1, "maxlength": -1},
        )
    )
