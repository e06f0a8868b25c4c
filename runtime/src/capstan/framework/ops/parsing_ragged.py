"""Rows of the ops that parse Examples into ragged tensors too (core/ops/parsing_ops.cc)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import parsing, rules, typesets


def _batch(shape: shapes.Shape) -> tuple[shapes.Shape, int | None, int | None]:
    """Return the axes before an example, their number, and the size of splits by example.

    Raises:
        ValueError: there is more than one axis.
    """
    batch = shapes.with_rank_at_most(shape, 1)
    if batch is None:
        return None, None, None
    return batch, len(batch), batch[0] + 1 if batch and batch[0] is not None else None


def _sparse(count: int, rank: int | None) -> list[shapes.Shape]:
    return [*[(None, rank)] * count, *[(None,)] * count, *[(rank,)] * count]


def _dense(batch: shapes.Shape, declared: Any) -> list[shapes.Shape]:
    return [shapes.concatenate(batch, shape.internal) for shape in declared]


def _check_counts(ctx: ShapeContext, pairs: tuple[tuple[str, str], ...]) -> None:
    """Raise ValueError unless the lists of each pair of attributes have the same length."""
    for first, second in pairs:
        counts = [
            value if isinstance(value, int) else len(value)
            for value in (ctx.attrs[first], ctx.attrs[second])
        ]
        if counts[0] != counts[1]:
            raise ValueError(
                f"{first} and {second} must have the same length, but have {counts[0]} and "
                f"{counts[1]}"
            )


def _example(ctx: ShapeContext) -> rules.Shapes:
    attrs = ctx.attrs
    _check_counts(
        ctx,
        (
            ("sparse_types", "num_sparse"),
            ("ragged_value_types", "ragged_split_types"),
            ("Tdense", "dense_shapes"),
        ),
    )
    batch, rank, splits = _batch(ctx.inputs[0])
    shapes.with_rank_at_most(ctx.inputs[1], 1)
    ragged = len(attrs["ragged_value_types"])
    return [
        *_sparse(attrs["num_sparse"], None if rank is None else rank + 1),
        *_dense(batch, attrs["dense_shapes"]),
        *[(None,)] * ragged,
        *[(splits,)] * ragged,
    ]


_TYPES: dict[str, tuple[dtypes.DType, ...]] = {
    **dict.fromkeys(("Tdense", "sparse_types", "ragged_value_types"), parsing.TYPES),
    "ragged_split_types": typesets.INDEX,
}
define(
    OpDef(
        "ParseExampleV2",
        (
            "serialized: string",
            "names: string",
            "sparse_keys: string",
            "dense_keys: string",
            "ragged_keys: string",
            "dense_defaults: Tdense",
        ),
        (
            "sparse_indices: num_sparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: num_sparse * int64",
            "dense_values: Tdense",
            "ragged_values: ragged_value_types",
            "ragged_row_splits: ragged_split_types",
        ),
        attrs={
            "num_sparse": int,
            **dict.fromkeys(("sparse_types", "ragged_value_types", "ragged_split_types"), list),
            "Tdense": list,
            "dense_shapes": list,
        },
        types=_TYPES,
        shape=_example,
        not_differentiable=True,
    )
)


def _sequence(ctx: ShapeContext) -> rules.Shapes:
    attrs = ctx.attrs
    _check_counts(
        ctx,
        (
            ("context_sparse_types", "Ncontext_sparse"),
            ("context_ragged_value_types", "context_ragged_split_types"),
            ("Tcontext_dense", "context_dense_shapes"),
            ("feature_list_sparse_types", "Nfeature_list_sparse"),
            ("feature_list_dense_types", "Nfeature_list_dense"),
            ("feature_list_ragged_value_types", "feature_list_ragged_split_types"),
            ("feature_list_dense_types", "feature_list_dense_shapes"),
        ),
    )
    batch, rank, splits = _batch(ctx.inputs[0])
    context, lists = (
        len(attrs[f"{part}_ragged_value_types"]) for part in ("context", "feature_list")
    )
    rows = shapes.concatenate(batch, (None,))
    return [
        *_sparse(attrs["Ncontext_sparse"], None if rank is None else rank + 1),
        *_dense(batch, attrs["context_dense_shapes"]),
        *[(None,)] * context,
        *[(splits,)] * context,
        *_sparse(attrs["Nfeature_list_sparse"], None if rank is None else rank + 2),
        *_dense(rows, attrs["feature_list_dense_shapes"]),
        *[batch] * attrs["Nfeature_list_dense"],
        *[(None,)] * lists,
        *[(splits,)] * lists,
        *[(None,)] * lists,
    ]


_KEYS = tuple(
    f"{part}_{kind}_keys"
    for part in ("context", "feature_list")
    for kind in ("sparse", "dense", "ragged")
)
_VARYING = ("sparse_types", "ragged_value_types", "ragged_split_types")
define(
    OpDef(
        "ParseSequenceExampleV2",
        (
            "serialized: string",
            "debug_name: string",
            *(f"{name}: string" for name in _KEYS),
            "feature_list_dense_missing_assumed_empty: bool",
            "context_dense_defaults: Tcontext_dense",
        ),
        (
            "context_sparse_indices: Ncontext_sparse * int64",
            "context_sparse_values: context_sparse_types",
            "context_sparse_shapes: Ncontext_sparse * int64",
            "context_dense_values: Tcontext_dense",
            "context_ragged_values: context_ragged_value_types",
            "context_ragged_row_splits: context_ragged_split_types",
            "feature_list_sparse_indices: Nfeature_list_sparse * int64",
            "feature_list_sparse_values: feature_list_sparse_types",
            "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
            "feature_list_dense_values: feature_list_dense_types",
            "feature_list_dense_lengths: Nfeature_list_dense * int64",
            "feature_list_ragged_values: feature_list_ragged_value_types",
            "feature_list_ragged_outer_splits: feature_list_ragged_split_types",
            "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
        ),
        attrs={
            "Ncontext_sparse": 0,
            "Tcontext_dense": [],
            **{f"context_{rest}": [] for rest in _VARYING},
            "context_dense_shapes": [],
            "Nfeature_list_sparse": 0,
            "Nfeature_list_dense": 0,
            "feature_list_dense_types": [],
            **{f"feature_list_{rest}": [] for rest in _VARYING},
            "feature_list_dense_shapes": [],
        },
        types={
            **dict.fromkeys(
                (
                    *("Tcontext_dense", "context_sparse_types", "context_ragged_value_types"),
                    *("feature_list_dense_types", "feature_list_sparse_types"),
                    "feature_list_ragged_value_types",
                ),
                parsing.TYPES,
            ),
            "context_ragged_split_types": typesets.INDEX,
            "feature_list_ragged_split_types": typesets.INDEX,
        },
        shape=_sequence,
        not_differentiable=True,
    )
)
