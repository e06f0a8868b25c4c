"""Columns of sequences: each example has ids or numbers for each of its steps.

Source: tensorflow/python/feature_column/sequence_feature_column.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import (
    array_ops,
    example_ops,
    math_ops,
    reduce_ops,
    segment_ops,
    sparse_math_ops,
)
from capstan.api.feature_column import categorical, columns
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class SequenceCategoricalColumn(columns.CategoricalColumn):
    """A column of the ids of each step. The ids are [batch, time, ids of a step]."""

    categorical_column: columns.CategoricalColumn

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transformed(self, features: columns.Features) -> Any:
        return features.get(self.categorical_column)

    def sparse_tensors(self, features: columns.Features) -> columns.IdWeightPair:
        ids, weights = self.categorical_column.sparse_tensors(features)
        return columns.IdWeightPair(_by_step(ids), None if weights is None else _by_step(weights))


def _by_step(values: SparseTensor) -> SparseTensor:
    """Return a SparseTensor with the axes behind the second one joined, or with a third axis."""
    shape = values.dense_shape
    # The last size is computed, because -1 has no meaning in a batch without elements.
    last = raw.Reshape(reduce_ops.reduce_prod(shape[2:]), [1])
    return sparse_math_ops.sparse_reshape(values, array_ops.concat([shape[:2], last], 0))


def lengths(values: SparseTensor, num_elements: int = 1) -> Any:
    """Return the number of steps of each example, an int64 vector [batch].

    `num_elements` values along the second axis are one step. The last step of an example is that of
    its last value.
    """
    places = values.indices
    batch = math_ops.cast(values.dense_shape[0], dtypes.int64)
    # Examples without values get the lowest number.
    last = segment_ops.unsorted_segment_max(places[:, 1], places[:, 0], batch)
    counts = math_ops.maximum(last, -1) + 1
    return math_ops.floordiv(counts + (num_elements - 1), num_elements)


def check_no_sequence(kind: str, column: Any) -> None:
    """Raise ValueError if the column is a sequence, which `input_layer` cannot take."""
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            f"In {kind}: {column.name}. categorical_column must not be of type "
            "_SequenceCategoricalColumn. Suggested fix A: If you wish to use input_layer, use a "
            "non-sequence categorical_column_with_*. Suggested fix B: If you wish to create "
            "sequence input, use sequence_input_layer instead of input_layer. Given (type "
            f"{type(column.categorical_column)}): {column.categorical_column}"
        )


def check_sequence(kind: str, column: Any) -> None:
    """Raise ValueError unless the column is a sequence, as `sequence_input_layer` needs it."""
    if not isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            f"In {kind}: {column.name}. categorical_column must be of type "
            "_SequenceCategoricalColumn to use sequence_input_layer. Suggested fix: Use one of "
            f"sequence_categorical_column_with_*. Given (type {type(column.categorical_column)}): "
            f"{column.categorical_column}"
        )


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Return the column of sequences whose ids are the values of a feature.

    The feature is a SparseTensor, [batch, time] or [batch, time, ids of a step]. Use the column in
    `embedding_column` or `indicator_column`. The arguments and errors are those of
    `categorical_column_with_identity`.
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """Return the column of sequences whose ids are hashes of the values of a feature.

    The feature is as for `sequence_categorical_column_with_identity`. The arguments and errors are
    those of `categorical_column_with_hash_bucket`.
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """Return the column of sequences whose ids are the lines of a file that a feature has.

    The feature is as for `sequence_categorical_column_with_identity`. The arguments and errors are
    those of `categorical_column_with_vocabulary_file`.
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Return the column of sequences whose ids are the places in a list where the values are.

    The feature is as for `sequence_categorical_column_with_identity`. The arguments and errors are
    those of `categorical_column_with_vocabulary_list`.
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


@dataclass(frozen=True)
class SequenceNumericColumn(columns.SequenceDenseColumn):
    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: dtypes.DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: example_ops.VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def transformed(self, features: columns.Features) -> Any:
        value = features.get(self.key)
        return value if self.normalizer_fn is None else self.normalizer_fn(value)

    def sequence_dense_tensor(
        self, features: columns.Features, collections: Any, trainable: bool
    ) -> columns.SequencePair:
        values = features.get(self)
        if not isinstance(values, SparseTensor):
            raise ValueError(  # noqa: TRY004 - like that of the other columns
                f"The feature of a sequence_numeric_column must be a SparseTensor. key: {self.key}"
                f", given: {values}. Parse it with make_parse_example_spec, or as a VarLenFeature"
            )
        dense = sparse_math_ops.sparse_tensor_to_dense(values, self.default_value)
        sizes = array_ops.concat([array_ops.shape(dense)[:1], [-1, *self.shape]], 0)
        # Steps of a third axis hold all of their numbers. Otherwise, numbers follow one another.
        size = math.prod(self.shape) if values.get_shape().ndims == 2 else 1
        return columns.SequencePair(raw.Reshape(dense, sizes), lengths(values, size))


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Return the column of sequences of numbers, of `shape` in each step.

    The feature is a SparseTensor, [batch, time * numbers of a step] or [batch, time, numbers of a
    step]. `default_value` stands where numbers are missing. `normalizer_fn` is applied to the
    SparseTensor of a batch.

    Raises:
        ValueError: a size of the shape is below 1, or the dtype is not a number.
        TypeError: `normalizer_fn` is not callable.
    """
    sizes, dtype = columns.sizes_of(shape, key), dtypes.as_dtype(dtype)
    columns.check_number(dtype, normalizer_fn, key)
    columns.check_key(key)
    return SequenceNumericColumn(key, sizes, default_value, dtype, normalizer_fn)
