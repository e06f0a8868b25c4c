"""Lookups of sparse ids, whose rows are combined (python/ops/embedding_ops.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    gather_ops,
    logic_ops,
    math_ops,
    partitioned_variables,
    reduce_ops,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.sparse_tensor import SparseTensor


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
        ids, places = array_ops.unique(sp_ids.values)
        found = gather_ops.embedding_lookup(tables, ids, partition_strategy, max_norm=max_norm)
        rows = gather_ops.gather(found, places)
        owners = math_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        weights = None if sp_weights is None else sp_weights.values
        return array_ops.identity(_combined(rows, weights, owners, combiner), name=scope)


def _combined(
    rows: graphs.Tensor, weights: graphs.Tensor | None, owners: graphs.Tensor, combiner: str
) -> Any:
    """Return the combination of the rows that have the same owner. The weights are a vector."""
    # The last owner is the largest. Without rows, there are no owners.
    count = reduce_ops.reduce_max(array_ops.concat([owners, [-1]], 0)) + 1
    shape = array_ops.concat(
        [array_ops.shape(rows)[:1], creation_ops.ones([array_ops.rank(rows) - 1], dtypes.int32)], 0
    )
    if weights is None:
        weights = creation_ops.ones(array_ops.shape(rows)[:1], rows.dtype)
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
