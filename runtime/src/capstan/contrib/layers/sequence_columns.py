"""Feature columns of sequences (contrib/layers/python/layers/feature_column_ops.py)."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import array_ops, feature_column, math_ops, scope_block, sparse_math_ops
from capstan.api.feature_column import dense
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor


def sequence_input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the numbers of dense columns for each step, of shape [batch, time, size].

    A feature is dense, of shape [batch, time] or [batch, time, size], or a SparseTensor of words or
    ids. The columns are in the order of their names. The `dimension` of a real valued column does
    not matter: it has all numbers that its feature has at each step.

    Raises:
        ValueError: a column is not dense, or a feature has an unknown rank, or one below 2.
    """
    with scope_block.variable_scope(scope, "sequence_input_from_feature_columns"):
        given = list(feature_columns)
        names = feature_column.make_parse_example_spec(given)
        steps = {name: _as_rows(name, columns_to_tensors[name]) for name in names}
        rows = {name: each for name, (each, _) in steps.items()}
        columns = [_with_size(column, rows) for column in given]
        numbers = feature_column.input_layer(rows, columns, weight_collections, trainable)
        _, batch = next(iter(steps.values()))
        size = numbers.shape.as_list()[-1]
        found = array_ops.reshape(numbers, array_ops.concat([batch, [size]], 0))
        found.set_shape([None, None, size])
        return found


def _with_size(column: Any, rows: Mapping[str, Any]) -> Any:
    """Return a column of numbers with as many as its feature has at each step, if that is known."""
    if not isinstance(column, dense.NumericColumn):
        return column
    sizes = rows[column.key].shape.as_list()[1:]
    return column if None in sizes else dataclasses.replace(column, shape=tuple(sizes))


def _as_rows(name: str, feature: Any) -> tuple[Any, Any]:
    """Return a feature with a row for each step of each sequence, and [batch, time]."""
    if isinstance(feature, sparse_tensor.SparseTensor):
        sizes = feature.dense_shape
        shape = array_ops.stack([sizes[0] * sizes[1], convert.constant(-1, dtypes.int64)])
        return sparse_math_ops.sparse_reshape(feature, shape), math_ops.cast(
            sizes[:2], dtypes.int32
        )
    sizes = array_ops.shape(feature)
    if feature.shape.ndims is None or feature.shape.ndims < 2:
        raise ValueError(
            f"The feature {name} of a sequence needs the shape [batch, time] or [batch, time, "
            f"size], but has {feature.shape}"
        )
    last = feature.shape.as_list()[2:] or [1]
    return array_ops.reshape(feature, [-1, *last]), sizes[:2]
