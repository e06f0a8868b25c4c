"""Columns of ids that are made of other columns (python/feature_column/feature_column_v2.py)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import example_ops, math_ops, sparse_cross_ops, sparse_ops
from capstan.api.feature_column import categorical, columns
from capstan.core import dtypes
from capstan.framework.sparse_tensor import SparseTensor

"""TensorFlow's key for the hashes of crosses."""


@dataclass(frozen=True)
class WeightedCategoricalColumn(columns.CategoricalColumn):
    categorical_column: columns.CategoricalColumn
    weight_feature_key: str
    dtype: dtypes.DType

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        return {**spec, self.weight_feature_key: example_ops.VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transformed(self, features: columns.Features) -> tuple[SparseTensor, SparseTensor]:
        weights = sparse_ops.convert_to_tensor_or_sparse_tensor(
            features.get(self.weight_feature_key)
        )
        if weights.dtype.base_dtype != self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = columns.sparse(weights, 0)
        if not weights.dtype.is_floating:
            values = math_ops.cast(weights.values, dtypes.float32)
            weights = SparseTensor(weights.indices, values, weights.dense_shape)
        return columns.sparse(features.get(self.categorical_column)), weights

    def sparse_tensors(self, features: columns.Features) -> columns.IdWeightPair:
        return columns.IdWeightPair(*features.get(self))


def weighted_categorical_column(
    categorical_column: columns.CategoricalColumn,
    weight_feature_key: str,
    dtype: Any = dtypes.float32,
) -> WeightedCategoricalColumn:
    """Return a column of ids whose weights another feature gives.

    Raises:
        ValueError: `dtype` is not a number.
    """
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


@dataclass(frozen=True)
class CrossedColumn(columns.CategoricalColumn):
    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        leaves = (each if isinstance(each, str) else each.name for each in self._leaves())
        return "_X_".join(sorted(leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                spec[key] = example_ops.VarLenFeature(dtypes.string)
            else:
                spec.update(key.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def _leaves(self) -> Iterator[Any]:
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    def transformed(self, features: columns.Features) -> SparseTensor:
        tensors = []
        for key in self._leaves():
            if isinstance(key, str):
                tensors.append(features.get(key))
                continue
            ids, weights = key.sparse_tensors(features)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column "
                    f"populates weight_tensor. Given column: {key.name}"
                )
            tensors.append(ids)
        return sparse_cross_ops.sparse_cross_hashed(tensors, self.hash_bucket_size, self.hash_key)


def crossed_column(
    keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Return the column whose ids are hashes of the combinations of several features.

    A key is the name of a feature of strings or integers, or a column of ids other than a hashed
    one.

    Raises:
        ValueError: the size is below 1, there are fewer than two keys, or a key is of another kind.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | columns.CategoricalColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, categorical.HashedCategoricalColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
