"""The buckets of the features of boosted trees, from feature columns.

A numeric column becomes a feature for each of its numbers. Its buckets are quantiles. A bucketized
column is one feature, and an indicator column a feature with two buckets for each id.
Source: tensorflow_estimator/python/estimator/canned/boosted_trees.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.api.feature_column import columns, dense
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_LEAST_BUCKETS = 2


class TreeColumns:
    """The columns of a model, sorted by name.

    Raises:
        ValueError: a column is of another kind, or its numbers are integers.
    """

    def __init__(self, feature_columns: Iterable[Any]) -> None:
        self.sorted = sorted(feature_columns, key=lambda column: column.name)
        self.numeric = [column for column in self.sorted if _is_numeric(column)]
        self.names = [name for column in self.sorted for name in [_name(column)] * _width(column)]
        """The name of the column of each feature."""

    @property
    def stream_count(self) -> int:
        """The number of features whose buckets are quantiles."""
        return sum(map(_width, self.numeric))

    def groups(self, num_quantiles: int) -> tuple[list[int], list[list[int]]]:
        """Return numbers of buckets, and the numbers of the features with so many buckets."""
        groups: dict[int, list[int]] = {}
        bucketized: list[int] = []
        most, index = _LEAST_BUCKETS, 0
        for column in self.sorted:
            features = range(index, index + _width(column))
            index += len(features)
            if isinstance(column, dense.BucketizedColumn):
                most = max(most, len(column.boundaries) + 1)
                bucketized += features
            else:
                is_indicator = isinstance(column, dense.IndicatorColumn)
                size = _LEAST_BUCKETS if is_indicator else num_quantiles
                groups.setdefault(size, []).extend(features)
        if bucketized:
            groups.setdefault(most, []).extend(bucketized)
        return list(groups), list(groups.values())

    def numbers(self, features: Mapping[str, Any]) -> list[Any]:
        """Return the numbers of a batch of which there are quantiles, a vector for each feature."""
        batch = columns.Features(features)
        return [vector for column in self.numeric for vector in _vectors(batch.get(column), column)]

    def buckets(
        self, features: Mapping[str, Any], numbers: list[Any], boundaries: list[Any]
    ) -> list[Any]:
        """Return the buckets of a batch, an int32 vector for each feature.

        `numbers` are the numbers of the batch, and `boundaries` those of their buckets.

        Raises:
            ValueError: a feature has more than one number, or an id more than one axis.
        """
        batch = columns.Features(features)
        quantiles = iter(raw.BoostedTreesBucketize(numbers, boundaries) if numbers else ())
        found: list[Any] = []
        for column in self.sorted:
            if isinstance(column, dense.BucketizedColumn):
                found.append(_bucketized(batch.get(column), column))
            elif isinstance(column, dense.IndicatorColumn):
                found += _indicated(batch.get(column), column)
            else:
                found += [next(quantiles) for _ in range(_width(column))]
        return found


def weights(features: Mapping[str, Any], weight_column: Any) -> Any:
    """Return the weights of a batch as a vector. Without a column, it is the number 1."""
    if weight_column is None:
        return convert.constant([1.0])
    column = weight_column
    if isinstance(column, str):
        column = dense.numeric_column(column, (1,))
    return _vectors(columns.Features(features).get(column), column)[0]


def _is_numeric(column: Any) -> bool:
    if isinstance(column, dense.BucketizedColumn | dense.IndicatorColumn):
        return False
    if isinstance(column, dense.NumericColumn):
        if not column.dtype.is_floating:
            raise ValueError(
                f"The numbers of column {column.name} are integers. Give numeric_column the dtype "
                "tf.float32, or use bucketized_column"
            )
        if len(column.variable_shape) > 1:
            raise ValueError(
                "For now, we only support Dense column with rank of 1, but column "
                f"`{column.name}` got: {column.variable_shape}"
            )
        return True
    if isinstance(column, columns.CategoricalColumn):
        raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    raise ValueError(f"Encountered unexpected column {column}")


def _width(column: Any) -> int:
    """Return the number of features of a column."""
    if isinstance(column, dense.BucketizedColumn):
        return 1
    if isinstance(column, dense.IndicatorColumn):
        return column.categorical_column.num_buckets
    return int(column.variable_shape[0]) if column.variable_shape else 1


def _name(column: Any) -> str:
    is_indicator = isinstance(column, dense.IndicatorColumn)
    return str(column.categorical_column.name if is_indicator else column.name)


def _vectors(matrix: Any, column: Any) -> list[Any]:
    return list(array_ops.unstack(matrix, _width(column), axis=1))


def _bucketized(matrix: Any, column: Any) -> Any:
    vector = array_ops.squeeze(matrix, axis=[1])
    if vector.shape.ndims is not None and vector.shape.ndims > 1:
        raise ValueError(
            "For now, only supports features equivalent to rank 1 but column "
            f"`{column.source_column.name}` got: {matrix.shape}"
        )
    return vector


def _indicated(matrix: Any, column: Any) -> list[Any]:
    if matrix.shape.ndims is not None and matrix.shape.ndims > 2:
        raise ValueError(
            "Rank of indicator column must be no more than 2, but column "
            f"`{column.categorical_column.name}` got: {matrix.shape}"
        )
    return _vectors(math_ops.cast(matrix, dtypes.int32), column)
