"""The old feature columns (contrib/layers/python/layers/feature_column{,_ops}.py).

Each is a column of `tf.feature_column`, so the columns of both kinds go with the estimators of
`tf.estimator` and of `tf.contrib.learn`. The linear models of `tf.contrib.learn` tell them apart
(`OldColumn`), because their variables have other names. The arguments `combiner` of sparse columns
have no effect: `tf.contrib.layers.embedding_column` and the linear estimators have combiners of
their own.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from capstan.api import creation_ops, example_ops, feature_column, scope_block, sparse_ops
from capstan.api.feature_column import categorical
from capstan.contrib.layers import integerized
from capstan.core import dtypes

UNNAMED: Final = "features"
"""The key of a column without a name, and of features that are one tensor."""


_NAMES: Final = {
    "bucket_size": "num_buckets", "column_name": "key", "config": "parse_example_spec",
    "length": "num_buckets", "sparse_id_column": "categorical_column",
}  # fmt: skip
"""The properties of old columns, and their names in `tf.feature_column`."""


class OldColumn:
    """A column that a function of this module has made. It has the properties of old columns."""

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES:
            return getattr(self, _NAMES[name])
        if name == "dimension" and hasattr(self, "shape"):
            return math.prod(self.shape)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@functools.cache
def _old_kind(kind: Any) -> Any:
    return type(kind.__name__, (OldColumn, kind), {})


def _old(column: Any) -> Any:
    """Return a copy of `column` that is an `OldColumn`."""
    values = [getattr(column, field.name) for field in dataclasses.fields(column)]
    kind: Any = type(column)
    return _old_kind(kind)(*values)


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer: Any = None,
) -> Any:
    """Return the column of a feature of `dimension` numbers. Raises as `numeric_column`.

    The column with an empty name is for features that are one tensor.
    """
    return _old(
        feature_column.numeric_column(
            column_name or UNNAMED, (dimension,), default_value, dtype, normalizer
        )
    )


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> Any:
    """Return the column of the bucket between `boundaries` that a number falls into."""
    return _old(feature_column.bucketized_column(source_column, boundaries))


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.int64
) -> Any:
    """Return the column whose ids are the values of a feature, modulo `bucket_size`.

    Raises:
        ValueError: `bucket_size` is below 1.
    """
    if bucket_size < 1:
        raise ValueError(f"bucket_size must be at least 1. bucket_size: {bucket_size}")
    return _old(integerized.IntegerizedColumn(column_name, dtypes.int64, bucket_size, None))


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.string,
    hash_keys: None = None,
) -> Any:  # fmt: skip
    """Return the column whose ids are hashes of a feature.

    Raises:
        ValueError: `hash_keys` are given, which Capstan does not have, or an argument is wrong.
    """
    if hash_keys is not None:
        raise ValueError("hash_keys are not supported. Use one column for each key")
    return _old(
        feature_column.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)
    )


def sparse_column_with_keys(
    column_name: str, keys: Sequence[Any], default_value: int = -1, combiner: str = "sum",
    dtype: Any = dtypes.string,
) -> Any:  # fmt: skip
    """Return the column whose ids are the places of values in the list `keys`."""
    return _old(
        feature_column.categorical_column_with_vocabulary_list(
            column_name, keys, dtype, default_value
        )
    )


def sparse_column_with_vocabulary_file(
    column_name: str, vocabulary_file: str, num_oov_buckets: int = 0, vocab_size: int | None = None,
    default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string,
) -> Any:  # fmt: skip
    """Return the column whose ids are the lines of a file that values are in."""
    default = None if num_oov_buckets else default_value
    return _old(
        feature_column.categorical_column_with_vocabulary_file(
            column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
        )
    )


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = dtypes.float32
) -> Any:
    """Return a column of ids whose weights another feature gives."""
    return _old(
        feature_column.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)
    )


def crossed_column(
    columns: Iterable[Any], hash_bucket_size: int, combiner: str = "sum",
    ckpt_to_load_from: Any = None, tensor_name_in_ckpt: None = None, hash_key: int | None = None,
) -> Any:  # fmt: skip
    """Return the column whose ids are hashes of the combinations of several columns.

    Raises:
        ValueError: a checkpoint is given, which Capstan does not read, or an argument is wrong.
    """
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise ValueError("crossed_column does not read a checkpoint. Use warm_start_from")
    # A hashed column would be hashed twice, so the cross takes the feature itself.
    is_hashed = categorical.HashedCategoricalColumn
    keys = [each.key if isinstance(each, is_hashed) else each for each in columns]
    return _old(feature_column.crossed_column(keys, hash_bucket_size, hash_key))


def one_hot_column(sparse_id_column: Any) -> Any:
    """Return the column that counts how often an example has each id."""
    return _old(feature_column.indicator_column(sparse_id_column))


def embedding_column(sparse_id_column: Any, dimension: int, *args: Any, **kwargs: Any) -> Any:
    """Return the column of vectors of size `dimension`, as `tf.feature_column.embedding_column`."""
    return _old(feature_column.embedding_column(sparse_id_column, dimension, *args, **kwargs))


def shared_embedding_columns(
    sparse_id_columns: Iterable[Any], dimension: int, combiner: str = "mean",
    shared_embedding_name: str | None = None, initializer: Any = None,
    ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None, trainable: bool = True,
) -> Any:  # fmt: skip
    """Return columns of vectors that share a table, as `tf.feature_column` does."""
    shared = feature_column.shared_embedding_columns(
        sparse_id_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_name,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    return [*map(_old, shared)]


def create_feature_spec_for_parsing(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return the features of Examples that the columns need, for `tf.parse_example`."""
    return dict(feature_column.make_parse_example_spec(list(feature_columns)))


def make_place_holder_tensors_for_base_features(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return a placeholder for each feature that the columns need, by name."""
    holders: dict[str, Any] = {}
    for name, spec in create_feature_spec_for_parsing(feature_columns).items():
        if isinstance(spec, example_ops.VarLenFeature):
            holders[name] = sparse_ops.sparse_placeholder(spec.dtype, name=f"Placeholder_{name}")
        else:
            shape = [None, *spec.shape]
            holders[name] = creation_ops.placeholder(spec.dtype, shape, f"Placeholder_{name}")
    return holders


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: Any = None,
) -> Any:
    """Return the dense columns of a batch, side by side, as `tf.feature_column.input_layer`."""
    return feature_column.input_layer(
        dict(columns_to_tensors), list(feature_columns), weight_collections, trainable, None,
        cols_to_outs,
    )  # fmt: skip


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """Return the logits of a linear model, its lists of variables by column, and its bias.

    The logits have the shape [batch, num_outputs]. The model is `tf.feature_column.linear_model`.
    """
    variables: dict[Any, Any] = {}
    tensors = dict(columns_to_tensors)
    with scope_block.variable_scope(
        scope, "weighted_sum_from_feature_columns", tuple(tensors.values())
    ):
        logits = feature_column.linear_model(
            tensors, list(feature_columns), num_outputs, "sum", weight_collections, trainable,
            variables,
        )  # fmt: skip
    (bias,) = variables.pop("bias")
    return logits, variables, bias


def infer_real_valued_columns(features: Any) -> list[Any]:
    """Return a column for each dense tensor of numbers: for one tensor, or a dictionary.

    Raises:
        ValueError: a tensor is sparse, has no number type, or has no known second dimension.
    """
    tensors = features if isinstance(features, Mapping) else {UNNAMED: features}
    return [_inferred(name, tensor) for name, tensor in sorted(tensors.items())]


def _inferred(name: str, tensor: Any) -> Any:
    if not hasattr(tensor, "get_shape") or not hasattr(tensor, "op") or tensor.shape.ndims is None:
        raise ValueError(f"on {name}: the columns of features need dense tensors of a known shape")
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise ValueError(f"on {name}: real valued columns need numbers, not {tensor.dtype.name}")
    sizes = tensor.shape.as_list()[1:] or [1]
    if None in sizes:
        raise ValueError(f"on {name}: the second dimension of {tensor} must be known")
    size = 1
    for each in sizes:
        size *= each
    return real_valued_column(name, size, dtype=tensor.dtype)
