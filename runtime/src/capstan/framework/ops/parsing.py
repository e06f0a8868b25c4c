"""Rows of the ops that read Example protocol buffers (core/ops/parsing_ops.cc)."""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

TYPES = (dtypes.float32, dtypes.int64, dtypes.string)


def _batch(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["Nsparse"]
    batch = shapes.with_rank(ctx.inputs[0], 1)
    shapes.with_rank(ctx.inputs[1], 1)
    dense = [shapes.concatenate(batch, shape.internal) for shape in ctx.attrs["dense_shapes"]]
    return [*_sparse(count, 2), *dense]


def _single(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    dense = [shape.internal for shape in ctx.attrs["dense_shapes"]]
    return [*_sparse(len(ctx.attrs["sparse_keys"]), 1), *dense]


def _sparse(count: int, rank: int) -> list[shapes.Shape]:
    """Return the shapes of the indices, the values and the shapes of sparse tensors."""
    return [*[(None, rank)] * count, *[(None,)] * count, *[(rank,)] * count]


_ATTRS: dict[str, Any] = {"sparse_types": list, "Tdense": list, "dense_shapes": list}
_ALLOWED = dict.fromkeys(("sparse_types", "Tdense"), TYPES)
define(
    OpDef(
        "ParseExample",
        (
            "serialized: string",
            "names: string",
            "sparse_keys: Nsparse * string",
            "dense_keys: Ndense * string",
            "dense_defaults: Tdense",
        ),
        (
            "sparse_indices: Nsparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: Nsparse * int64",
            "dense_values: Tdense",
        ),
        attrs={**_ATTRS, "Nsparse": int, "Ndense": int},
        shape=_batch,
        not_differentiable=True,
        types=_ALLOWED,
    )
)
define(
    OpDef(
        "ParseSingleExample",
        ("serialized: string", "dense_defaults: Tdense"),
        (
            "sparse_indices: num_sparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: num_sparse * int64",
            "dense_values: Tdense",
        ),
        attrs={"num_sparse": int, "sparse_keys": list, "dense_keys": list, **_ATTRS},
        shape=_single,
        not_differentiable=True,
        types=_ALLOWED,
    )
)


def _sequence(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    shapes.with_rank(ctx.inputs[1], 1)
    attrs = ctx.attrs
    return [
        *_sparse(attrs["Ncontext_sparse"], 1),
        *[shape.internal for shape in attrs["context_dense_shapes"]],
        *_sparse(attrs["Nfeature_list_sparse"], 2),
        *[
            shapes.concatenate((None,), each.internal)
            for each in attrs["feature_list_dense_shapes"]
        ],
    ]


def _sequences(ctx: ShapeContext) -> rules.Shapes:
    batch = shapes.with_rank(ctx.inputs[0], 1)
    shapes.with_rank(ctx.inputs[1], 1)
    attrs = ctx.attrs
    padded = shapes.concatenate(batch, (None,))
    return [
        *_sparse(attrs["Ncontext_sparse"], 2),
        *[shapes.concatenate(batch, each.internal) for each in attrs["context_dense_shapes"]],
        *_sparse(attrs["Nfeature_list_sparse"], 3),
        *[shapes.concatenate(padded, each.internal) for each in attrs["feature_list_dense_shapes"]],
        *[batch] * attrs["Nfeature_list_dense"],
    ]


_KEYS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
_LISTS = (
    "context_sparse_indices: Ncontext_sparse * int64",
    "context_sparse_values: context_sparse_types",
    "context_sparse_shapes: Ncontext_sparse * int64",
    "context_dense_values: Tcontext_dense",
    "feature_list_sparse_indices: Nfeature_list_sparse * int64",
    "feature_list_sparse_values: feature_list_sparse_types",
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
    "feature_list_dense_values: feature_list_dense_types",
)
_LIST_ATTRS = {
    **{f"N{each}": 0 for each in _KEYS},
    "context_sparse_types": [],
    "Tcontext_dense": [],
    "feature_list_dense_types": [],
    "context_dense_shapes": [],
    "feature_list_sparse_types": [],
    "feature_list_dense_shapes": [],
}
_LISTS_ALLOWED = dict.fromkeys(
    (
        *("context_sparse_types", "Tcontext_dense"),
        *("feature_list_sparse_types", "feature_list_dense_types"),
    ),
    TYPES,
)
define(
    OpDef(
        "ParseSingleSequenceExample",
        (
            "serialized: string",
            "feature_list_dense_missing_assumed_empty: string",
            *(f"{each}_keys: N{each} * string" for each in _KEYS),
            "context_dense_defaults: Tcontext_dense",
            "debug_name: string",
        ),
        _LISTS,
        attrs=_LIST_ATTRS,
        shape=_sequence,
        not_differentiable=True,
        types=_LISTS_ALLOWED,
    )
)
define(
    OpDef(
        "ParseSequenceExample",
        ("serialized: string", "debug_name: string", "context_dense_defaults: Tcontext_dense"),
        (*_LISTS, "feature_list_dense_lengths: Nfeature_list_dense * int64"),
        attrs={
            **_LIST_ATTRS,
            "feature_list_dense_missing_assumed_empty": list,
            **{f"{each}_keys": list for each in _KEYS},
        },
        shape=_sequences,
        not_differentiable=True,
        types=_LISTS_ALLOWED,
    )
)
