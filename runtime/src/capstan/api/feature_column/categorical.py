"""Columns that turn a feature into ids (python/feature_column/feature_column_v2.py)."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    check_ops,
    example_ops,
    gather_ops,
    gfile,
    math_ops,
    string_ops,
)
from capstan.api.feature_column import columns
from capstan.api.lookup import factories
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class _KeyColumn(columns.CategoricalColumn):
    """A column of ids that reads one feature, `key`."""

    key: str
    dtype: dtypes.DType

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: example_ops.VarLenFeature(self.dtype)}

    def read(self, features: columns.Features) -> SparseTensor:
        """Return the feature.

        Raises:
            ValueError: the feature has another kind of dtype than the column.
        """
        values = columns.sparse(features.get(self.key))
        if self.dtype.is_integer != values.dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.dtype}, tensor dtype: {values.dtype}"
            )
        columns.check_string_or_int(values.dtype, f"column_name: {self.key} input_tensor")
        return values


@dataclass(frozen=True)
class HashedCategoricalColumn(_KeyColumn):
    hash_bucket_size: int

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transformed(self, features: columns.Features) -> SparseTensor:
        found = self.read(features)
        texts = found.values if self.dtype == dtypes.string else string_ops.as_string(found.values)
        ids = string_ops.string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")
        return SparseTensor(found.indices, ids, found.dense_shape)


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """Return the column whose ids are hashes of a feature, below `hash_bucket_size`.

    Raises:
        ValueError: the size is below 1, or the dtype is neither a string nor an integer.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    columns.check_key(key)
    dtype = dtypes.as_dtype(dtype)
    columns.check_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, dtype, hash_bucket_size)


@dataclass(frozen=True)
class _VocabularyColumn(_KeyColumn):
    """A column whose ids are places in a vocabulary. Other words fall into buckets."""

    num_oov_buckets: int
    default_value: int

    def transformed(self, features: columns.Features) -> SparseTensor:
        found, key_dtype = self.read(features), self.dtype
        if found.dtype.is_integer:
            key_dtype = dtypes.int64
            values = math_ops.cast(found.values, dtypes.int64)
            found = SparseTensor(found.indices, values, found.dense_shape)
        ids: SparseTensor = self.table(key_dtype, f"{self.key}_lookup").lookup(found)
        return ids

    @abc.abstractmethod
    def table(self, key_dtype: dtypes.DType, name: str) -> Any:
        """Return the lookup table of the vocabulary."""


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_VocabularyColumn):
    vocabulary_file: str
    vocabulary_size: int

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def table(self, key_dtype: dtypes.DType, name: str) -> Any:
        return factories.index_table_from_file(
            self.vocabulary_file,
            self.num_oov_buckets,
            self.vocabulary_size,
            self.default_value,
            key_dtype=key_dtype,
            name=name,
        )


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_VocabularyColumn):
    vocabulary_list: tuple[Any, ...]

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def table(self, key_dtype: dtypes.DType, name: str) -> Any:
        return factories.index_table_from_tensor(
            list(self.vocabulary_list),
            self.num_oov_buckets,
            self.default_value,
            dtype=key_dtype,
            name=name,
        )


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> VocabularyFileCategoricalColumn:
    """Return the column whose ids are the lines of a file that a feature has.

    Other values fall into `num_oov_buckets` buckets, whose ids come next, or have the id
    `default_value`, by default -1, which counts as no id. Without `vocabulary_size`, this program
    counts the lines of the file.

    Raises:
        ValueError: the file has no name or does not exist, or a number is out of range.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with gfile.GFile(vocabulary_file, "rb") as lines:
            vocabulary_size = sum(1 for _ in lines)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(key, num_oov_buckets, default_value, None)
    columns.check_key(key)
    dtype = dtypes.as_dtype(dtype)
    columns.check_string_or_int(dtype, f"column_name: {key}")
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(
        key, dtype, num_oov_buckets or 0, default, vocabulary_file, vocabulary_size
    )


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any] | None,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return the column whose ids are the places in a list where the value of a feature is.

    Other values fall into `num_oov_buckets` buckets, whose ids come next, or have the id
    `default_value`. The id -1 counts as no id.

    Raises:
        ValueError: the list is empty or has equal words, or a number or dtype does not fit.
    """
    if vocabulary_list is None or not len(vocabulary_list):
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    array = np.array(vocabulary_list)
    own = dtypes.string if array.dtype.kind in "USO" else dtypes.as_dtype(array.dtype)
    _check_buckets(key, num_oov_buckets, default_value, -1)
    columns.check_string_or_int(own, f"column_name: {key} vocabulary")
    wanted = own if dtype is None else dtypes.as_dtype(dtype)
    if wanted.is_integer != own.is_integer:
        raise ValueError(
            f"dtype {wanted} and vocabulary dtype {own} do not match, column_name: {key}"
        )
    columns.check_string_or_int(wanted, f"column_name: {key}")
    columns.check_key(key)
    return VocabularyListCategoricalColumn(
        key, wanted, num_oov_buckets, default_value, tuple(vocabulary_list)
    )


def _check_buckets(key: str, num_oov_buckets: int, default: int | None, none: int | None) -> None:
    if num_oov_buckets and default != none:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets and num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@dataclass(frozen=True)
class IdentityCategoricalColumn(_KeyColumn):
    number_buckets: int
    default_value: int | None

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def transformed(self, features: columns.Features) -> SparseTensor:
        found = columns.sparse(features.get(self.key))
        if not found.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found.dtype}")
        ids = math_ops.cast(found.values, dtypes.int64)
        if self.default_value is None:
            ids = self._checked(ids)
        else:
            is_strange = raw.LogicalOr(raw.Less(ids, 0), raw.GreaterEqual(ids, self.num_buckets))
            default = math_ops.cast(self.default_value, dtypes.int64)
            ids = gather_ops.where(is_strange, raw.Fill(raw.Shape(ids), default), ids)
        return SparseTensor(found.indices, ids, found.dense_shape)

    def _checked(self, ids: Any) -> Any:
        """Return the ids. The step fails with InvalidArgumentError if one is out of range."""
        size = math_ops.cast(self.num_buckets, dtypes.int64)
        zero = math_ops.cast(0, dtypes.int64)
        too_large = f'Bucket index for categorical column "{self.name}" exceeds number of buckets'
        negative = f'Negative bucket index for categorical column "{self.name}"'
        checks = [
            check_ops.assert_less(
                ids, size, (ids, size), message=too_large, name="assert_less_than_num_buckets"
            ),
            check_ops.assert_greater_equal(
                ids, zero, (ids,), message=negative, name="assert_greater_or_equal_0"
            ),
        ]
        with graphs.get_default_graph().control_dependencies(checks):
            return array_ops.identity(ids)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return the column whose ids are the values of a feature, which are below `num_buckets`.

    Without `default_value`, a step with another value fails with InvalidArgumentError.

    Raises:
        ValueError: `num_buckets` is below 1, or `default_value` is not below it.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    columns.check_key(key)
    return IdentityCategoricalColumn(key, dtypes.int64, num_buckets, default_value)
