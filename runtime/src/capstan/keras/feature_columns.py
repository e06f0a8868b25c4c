"""The configurations of feature columns (python/feature_column/serialization.py).

A configuration names the class of a column and has the arguments that make an equal column, as
values that JSON can hold. Columns of programs describe themselves in the methods `_get_config` and
`_from_config`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from capstan.api.feature_column import categorical, columns, composed, dense, embedding, sequence
from capstan.core import dtypes
from capstan.keras import initializers, objects

_KEYS: Final[Mapping[type, tuple[str, ...]]] = {
    categorical.HashedCategoricalColumn: ("key", "hash_bucket_size", "dtype"),
    categorical.IdentityCategoricalColumn: ("key", "number_buckets", "default_value"),
    categorical.VocabularyFileCategoricalColumn: (
        *("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"),
    ),
    categorical.VocabularyListCategoricalColumn: (
        *("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    ),
    composed.CrossedColumn: ("keys", "hash_bucket_size", "hash_key"),
    composed.WeightedCategoricalColumn: ("categorical_column", "weight_feature_key", "dtype"),
    dense.BucketizedColumn: ("source_column", "boundaries"),
    dense.IndicatorColumn: ("categorical_column",),
    dense.NumericColumn: ("key", "shape", "default_value", "dtype", "normalizer_fn"),
    embedding.EmbeddingColumn: (
        *("categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from"),
        *("tensor_name_in_ckpt", "max_norm", "trainable"),
    ),
    sequence.SequenceCategoricalColumn: ("categorical_column",),
    sequence.SequenceNumericColumn: ("key", "shape", "default_value", "dtype", "normalizer_fn"),
}
"""The arguments of the columns, by TensorFlow's names."""

_MAKERS: Final[Mapping[type, Callable[..., Any]]] = {
    categorical.IdentityCategoricalColumn: lambda key, number_buckets, default_value: (
        categorical.categorical_column_with_identity(key, number_buckets, default_value)
    ),
    embedding.EmbeddingColumn: embedding.embedding_column,
}
"""The functions that make columns whose fields have other names than the arguments."""


def serialize_feature_column(column: Any) -> Any:
    """Return the configuration of a column. The key of a feature, a string, describes itself.

    Raises:
        ValueError: the object is no column, or a column that has no configuration, such as one of
            `shared_embedding_columns`.
    """
    if isinstance(column, str):
        return column
    kind = type(column)
    if kind in _KEYS:
        config = {name: _plain(name, getattr(column, name)) for name in _KEYS[kind]}
    elif isinstance(column, columns.FeatureColumn) and hasattr(column, "_get_config"):
        config = column._get_config()
    elif isinstance(column, columns.FeatureColumn):
        raise ValueError(
            f"The column {column.name} cannot be saved: {kind.__name__} has no `_get_config`"
        )
    else:
        raise ValueError(f"Instance: {column} is not a FeatureColumn")
    return {"class_name": kind.__name__, "config": config}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, columns.FeatureColumn):
        return serialize_feature_column(value)
    if name == "keys":
        return tuple(map(serialize_feature_column, value))
    if isinstance(value, tuple):
        return tuple(_plain(name, each) for each in value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, embedding.Restored):
        return None
    return objects.serialize_keras_object(value) if callable(value) else value


def deserialize_feature_column(
    config: Any,
    custom_objects: Mapping[str, Any] | None = None,
    columns_by_name: dict[str, Any] | None = None,
) -> Any:
    """Return the column that a configuration describes. A string is returned as it is.

    `custom_objects` are the columns and functions of the program by their names. A column that
    `columns_by_name` has already, under its class and name, becomes this object.

    Raises:
        ValueError: the configuration has another form, or names an unknown class or function.
    """
    if isinstance(config, str):
        return config
    if not isinstance(config, Mapping) or not {"class_name", "config"} <= config.keys():
        raise ValueError(f"Improper config format: {config}")
    known = {} if columns_by_name is None else columns_by_name
    by_name = {kind.__name__: kind for kind in _KEYS}
    kind = objects.found(config["class_name"], by_name, custom_objects, "feature column")
    if kind in _KEYS:
        column = _made(kind, config["config"], custom_objects, known)
    elif hasattr(kind, "_from_config"):
        column = kind._from_config(
            config["config"], custom_objects=custom_objects, columns_by_name=known
        )
    else:
        raise ValueError(f"Expected FeatureColumn class, instead found: {kind}")
    same = known.setdefault(f"{kind.__name__}:{column.name}", column)
    # Two numeric columns of one feature may normalize it in different ways.
    return column if kind in _KEYS and column != same else same


def _made(
    kind: Any,
    config: Mapping[str, Any],
    custom_objects: Mapping[str, Any] | None,
    known: dict[str, Any],
) -> Any:
    expected = _KEYS[kind]
    if set(config) != set(expected):
        raise ValueError(f"Invalid config: {config}, expected keys: {expected}")

    def column(given: Any) -> Any:
        return deserialize_feature_column(given, custom_objects, known)

    arguments = {name: _tupled(value) for name, value in config.items()}
    for name in ("categorical_column", "source_column"):
        if name in arguments:
            arguments[name] = column(config[name])
    if "keys" in arguments:
        arguments["keys"] = tuple(map(column, config["keys"]))
    if "dtype" in arguments:
        arguments["dtype"] = dtypes.as_dtype(config["dtype"])
    if "normalizer_fn" in arguments:
        arguments["normalizer_fn"] = objects.deserialize_keras_object(
            config["normalizer_fn"], None, custom_objects, "function"
        )
    if "initializer" in arguments and config["initializer"] is not None:
        arguments["initializer"] = initializers.deserialize(config["initializer"], custom_objects)
    return _MAKERS.get(kind, kind)(**arguments)


def _tupled(value: Any) -> Any:
    """Return a list, as JSON has it, as the tuple that columns have."""
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def serialize_feature_columns(feature_columns: Iterable[Any]) -> list[Any]:
    """Return the configurations of columns. The errors are those of `serialize_feature_column`."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(
    configs: Iterable[Any], custom_objects: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the columns that configurations describe. Equal columns become one object.

    The errors are those of `deserialize_feature_column`.
    """
    known: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, known) for config in configs]
