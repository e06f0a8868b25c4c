"""Columns that turn features into numbers (python/feature_column/feature_column_v2.py)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.api import (
    creation_ops,
    example_ops,
    math_ops,
    nd_ops,
    reduce_ops,
    sparse_math_ops,
)
from capstan.api.feature_column import columns, sequence
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class NumericColumn(columns.DenseColumn):
    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: dtypes.DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        feature = example_ops.FixedLenFeature(self.shape, self.dtype, self.default_value)
        return {self.key: feature}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def transformed(self, features: columns.Features) -> Any:
        value = features.get(self.key)
        if isinstance(value, SparseTensor):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return math_ops.cast(value, dtypes.float32)

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        return features.get(self)


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Return the column of a feature of numbers, of `shape` in each example.

    `normalizer_fn` is applied to the tensor of a batch.

    Raises:
        ValueError: the shape, the dtype or the default is wrong.
        TypeError: `normalizer_fn` is not callable.
    """
    sizes, dtype = columns.sizes_of(shape, key), dtypes.as_dtype(dtype)
    columns.check_number(dtype, normalizer_fn, key)
    columns.check_key(key)
    default = _default(default_value, sizes, dtype, key)
    return NumericColumn(key, sizes, default, dtype, normalizer_fn)


def _default(value: Any, shape: tuple[int, ...], dtype: dtypes.DType, key: str) -> Any:
    if value is None:
        return None
    array = np.asarray(value)
    if array.shape not in ((), shape):
        raise ValueError(
            f"The shape of default_value must be equal to given shape. default_value: {value}, "
            f"shape: {shape}, key: {key}"
        )
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and dtype.is_integer):
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: "
            f"{dtype}, key: {key}"
        )
    full: list[Any] = np.broadcast_to(array.astype(dtype.as_numpy_dtype), shape).tolist()
    return _tupled(full)


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class BucketizedColumn(columns.DenseColumn, columns.CategoricalColumn):
    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def _count(self) -> int:
        return len(self.boundaries) + 1

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (*self.source_column.shape, self._count)

    @property
    def num_buckets(self) -> int:
        return self._count * self.source_column.shape[0]

    def transformed(self, features: columns.Features) -> Any:
        return raw.Bucketize(features.get(self.source_column), boundaries=list(self.boundaries))

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        return creation_ops.one_hot(features.get(self), self._count, 1.0, 0.0)

    def sparse_tensors(self, features: columns.Features) -> columns.IdWeightPair:
        buckets = features.get(self)
        width = self.source_column.shape[0]
        ids = raw.AddV2(buckets, np.arange(width, dtype=np.int32) * self._count)
        places = raw.Where(raw.OnesLike(math_ops.cast(ids, dtypes.bool_)))
        shape = raw.Shape(ids, out_type=dtypes.int64)
        values = math_ops.cast(raw.Reshape(ids, [-1]), dtypes.int64)
        return columns.IdWeightPair(SparseTensor(places, values, shape), None)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> Any:
    """Return the column of the intervals between `boundaries` in which numbers are.

    An interval includes its lower boundary. The column is dense, and also a column of ids.

    Raises:
        ValueError: the source is not a numeric column of vectors, or the boundaries do not rise.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            "source_column must be a column generated with numeric_column(). Given: "
            f"{source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, list | tuple) or any(
        low >= high for low, high in itertools.pairwise(boundaries)
    ):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


@dataclass(frozen=True)
class IndicatorColumn(columns.DenseColumn, columns.SequenceDenseColumn):
    categorical_column: columns.CategoricalColumn

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (1, self.categorical_column.num_buckets)

    def transformed(self, features: columns.Features) -> Any:
        ids, weights = self.categorical_column.sparse_tensors(features)
        size = self.categorical_column.num_buckets
        if weights is None:
            dense = sparse_math_ops.sparse_tensor_to_dense(ids, -1)
            return reduce_ops.reduce_sum(creation_ops.one_hot(dense, size, 1.0, 0.0), [-2])
        merged = sparse_math_ops.sparse_merge(ids, weights, size)
        known = sparse_math_ops.sparse_retain(merged, raw.GreaterEqual(merged.indices[:, -1], 0))
        return nd_ops.scatter_nd(known.indices, known.values, known.dense_shape)

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        sequence.check_no_sequence("indicator_column", self)
        return features.get(self)

    def sequence_dense_tensor(
        self, features: columns.Features, collections: Any, trainable: bool
    ) -> columns.SequencePair:
        sequence.check_sequence("indicator_column", self)
        ids, _ = self.categorical_column.sparse_tensors(features)
        return columns.SequencePair(features.get(self), sequence.lengths(ids))


def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Return the column that has the number of times that each id occurs in an example.

    If the ids have weights, the column has the sum of the weights.

    Raises:
        ValueError: the column is not a column of ids.
    """
    if not isinstance(categorical_column, columns.CategoricalColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            "Unsupported input type. Input must be a CategoricalColumn. Given: "
            f"{categorical_column}"
        )
    return IndicatorColumn(categorical_column)
