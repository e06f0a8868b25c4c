"""Lookups of sparse ids, whose rows are combined (python/ops/embedding_ops.py)."""

from typing import Any, Final

from capstan.api import (
    array_ops,
    creation_ops,
    gather_ops,
    logic_ops,
    math_ops,
    partitioned_variables,
    reduce_ops,
    segment_ops,
    sparse_math_ops,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.sparse_tensor import SparseTensor

_HASHES: Final = ("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
"""The ops whose outputs are ids that are never negative."""


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Any:
    """Look up the ids of each row of `sp_ids`, and combine the rows that are found into one row.

    `combiner` is "sum" (the sum of the rows times their weights), "mean" (the sum divided by the
    sum of the weights, the default) or "sqrtn" (the sum divided by the root of the sum of the
    squared weights). Without `sp_weights`, each weight is 1. `embedding_lookup` describes the other
    arguments. The result has a row for each row of `sp_ids` up to the last one that has an id. A
    row without ids is zeros.

    Raises:
        ValueError: the combiner is unknown.
        TypeError: `sp_ids` or `sp_weights` is not a SparseTensor.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not isinstance(sp_weights, SparseTensor):
            raise TypeError("sp_weights must be either None or SparseTensor")
        sp_ids.values.get_shape().assert_is_compatible_with(sp_weights.values.get_shape())
        sp_ids.indices.get_shape().assert_is_compatible_with(sp_weights.indices.get_shape())
        sp_ids.dense_shape.get_shape().assert_is_compatible_with(sp_weights.dense_shape.get_shape())
    is_cut = isinstance(params, list | tuple | partitioned_variables.PartitionedVariable)
    tables = list(params) if is_cut else [params]
    with scoped(name, "embedding_lookup_sparse", (*tables, sp_ids.values)) as scope:
        owners = math_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, places = array_ops.unique(sp_ids.values)
        found = gather_ops.embedding_lookup(tables, ids, partition_strategy, max_norm=max_norm)
        if found.dtype in (dtypes.float16, dtypes.bfloat16):
            found = math_ops.cast(found, dtypes.float32)
        if sp_weights is None:
            return _COMBINED[combiner](found, places, owners, name=scope)
        rows = gather_ops.gather(found, places)
        return array_ops.identity(_weighted(rows, sp_weights.values, owners, combiner), name=scope)


_COMBINED = {
    "sum": segment_ops.sparse_segment_sum,
    "mean": segment_ops.sparse_segment_mean,
    "sqrtn": segment_ops.sparse_segment_sqrt_n,
}


def _weighted(
    rows: graphs.Tensor, weights: graphs.Tensor, owners: graphs.Tensor, combiner: str
) -> Any:
    """Return the combination of the rows that have the same owner. The weights are a vector."""
    # The last owner is the largest. Without rows, there are no owners.
    count = reduce_ops.reduce_max(array_ops.concat([owners, [-1]], 0)) + 1
    shape = array_ops.concat(
        [array_ops.shape(rows)[:1], creation_ops.ones([array_ops.rank(rows) - 1], dtypes.int32)], 0
    )
    column = array_ops.reshape(math_ops.cast(weights, rows.dtype), shape)
    total = gather_ops.unsorted_segment_sum(rows * column, owners, count)
    if combiner == "sum":
        return total
    if combiner == "mean":
        divisor = gather_ops.unsorted_segment_sum(column, owners, count)
    else:
        squares = gather_ops.unsorted_segment_sum(column * column, owners, count)
        divisor = math_ops.sqrt(squares)
    is_empty = math_ops.cast(logic_ops.equal(divisor, 0.0), rows.dtype)
    # A row without ids is 0 / 1.
    return total * (1.0 - is_empty) / (divisor + is_empty)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Any:
    """Look up and combine sparse ids, as `embedding_lookup_sparse`, for ids as they come.

    Negative ids are left out, and so are ids whose weight is not above 0, unless the combiner is
    "sum". A row without ids gets the row of `default_id`, or zeros. The ids may have more than two
    axes: the last one is combined.

    Raises:
        ValueError: there is no table, the weights have another type, or the combiner is unknown.
    """
    is_cut = isinstance(embedding_weights, list | partitioned_variables.PartitionedVariable)
    tables = list(embedding_weights) if is_cut else [embedding_weights]
    if not tables or tables[0] is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    if sparse_weights is not None:
        dtype = sparse_weights.dtype
        tables = [
            table
            if getattr(table, "dtype", None) is dtype
            else convert.convert_to_tensor(table, dtype)
            for table in tables
        ]
    with scoped(name, "embedding_lookup", (*tables, sparse_ids.values)) as scope:
        shape = sparse_ids.dense_shape
        rank = array_ops.size(shape)
        outer = array_ops.slice(shape, [0], [rank - 1])
        ids = _as_matrix(sparse_ids, outer)
        weights = None if sparse_weights is None else SparseTensor(
            ids.indices, sparse_weights.values, ids.dense_shape
        )  # fmt: skip
        ids, weights = _sound(ids, weights, combiner)
        ids, is_empty = sparse_math_ops.sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_math_ops.sparse_fill_empty_rows(weights, 1.0)
        rows = embedding_lookup_sparse(
            tables, ids, weights, partition_strategy, None if default_id is None else scope,
            combiner, max_norm,
        )  # fmt: skip
        if default_id is None:
            rows = gather_ops.where(is_empty, creation_ops.zeros_like(rows), rows, name=scope)
        if is_matrix(sparse_ids):
            return rows
        axes = shape.shape.as_list()[0] if shape.shape.ndims is not None else None
        last = array_ops.slice(array_ops.shape(rows), [1], [-1])
        found = array_ops.reshape(
            rows, array_ops.concat([math_ops.cast(outer, dtypes.int32), last], 0)
        )
        above = tensor_shape.unknown_shape(None if axes is None else axes - 1)
        found.set_shape(above.concatenate(rows.shape[1:]))
        return found


def is_matrix(ids: SparseTensor) -> bool:
    """Return whether a SparseTensor certainly has two axes."""
    sizes = ids.dense_shape.shape
    return bool(sizes.is_fully_defined() and sizes.as_list() == [2])


def _as_matrix(ids: SparseTensor, outer: Any) -> SparseTensor:
    """Return sparse ids with all axes but the last one joined into one."""
    if is_matrix(ids):
        return ids
    # The number of a row is the sum of its coordinates, each times the sizes of the later axes.
    steps = reduce_ops.cumprod(outer, exclusive=True, reverse=True)
    depth = array_ops.size(outer)
    row = reduce_ops.reduce_sum(
        array_ops.slice(ids.indices, [0, 0], array_ops.stack([-1, depth])) * steps, 1
    )
    columns = array_ops.slice(ids.indices, array_ops.stack([0, depth]), [-1, 1])
    column = array_ops.reshape(columns, [-1])
    last = array_ops.slice(ids.dense_shape, [depth], [1])
    count = array_ops.reshape(reduce_ops.reduce_prod(outer), [1])
    return SparseTensor(
        array_ops.stack([row, column], 1), ids.values, array_ops.concat([count, last], 0)
    )


def _sound(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str
) -> tuple[SparseTensor, SparseTensor | None]:
    """Leave out negative ids and, unless rows are summed, ids whose weight is not above 0."""
    if weights is None and ids.values.op.type in _HASHES:
        return ids, None
    keeps = logic_ops.greater_equal(ids.values, 0)
    if weights is None:
        return sparse_math_ops.sparse_retain(ids, keeps), None
    if combiner != "sum":
        keeps = logic_ops.logical_and(keeps, logic_ops.greater(weights.values, 0))
    return (
        sparse_math_ops.sparse_retain(ids, keeps), sparse_math_ops.sparse_retain(weights, keeps)
    )  # fmt: skip
