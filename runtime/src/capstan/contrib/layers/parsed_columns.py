"""Tensors of the old feature columns (contrib/layers/python/layers/feature_column_ops.py)."""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import array_ops, example_ops, feature_column, sequence_example_ops
from capstan.api.feature_column import columns

__all__ = [
    "check_feature_columns", "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples", "transform_features",
]  # fmt: skip


def check_feature_columns(feature_columns: Iterable[Any]) -> None:
    """Check a collection of columns.

    Raises:
        ValueError: the collection is a dictionary, or has a column twice.
    """
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")  # noqa: TRY004
    seen: set[Any] = set()
    for column in feature_columns:
        if column in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means "
                "that the column is almost identical to another column, and one must be discarded."
            )
        seen.add(column)


def transform_features(
    features: Mapping[str, Any], feature_columns: Iterable[Any]
) -> dict[Any, Any]:
    """Return the tensor of each column for the features of a batch, by column.

    A column of words or ids has a SparseTensor of ids.

    Raises:
        ValueError: a feature is missing, or a column occurs twice.
    """
    chosen = list(feature_columns)
    check_feature_columns(chosen)
    batch = columns.Features(features)
    return {column: batch.get(column) for column in sorted(chosen, key=lambda each: str(each.name))}


def parse_feature_columns_from_examples(
    serialized: Any, feature_columns: Iterable[Any], name: str | None = None,
    example_names: Any = None,
) -> dict[Any, Any]:  # fmt: skip
    """Return the features of serialized Examples, by name, and the tensors of columns, by column.

    The arguments are those of `tf.parse_example`.

    Raises:
        ValueError: a column occurs twice.
    """
    chosen = list(feature_columns)
    check_feature_columns(chosen)
    features = example_ops.parse_example(
        serialized, feature_column.make_parse_example_spec(chosen), name, example_names
    )
    return {**features, **transform_features(features, chosen)}


def parse_feature_columns_from_sequence_examples(
    serialized: Any,
    context_feature_columns: Iterable[Any] | None,
    sequence_feature_columns: Iterable[Any] | None,
    name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of a serialized SequenceExample, and its lists of features, by name.

    A list of a column with a default value may be missing, and is then empty.

    Raises:
        ValueError: there are several SequenceExamples, or a column occurs twice.
    """
    context, sequences = list(context_feature_columns or ()), list(sequence_feature_columns or ())
    for chosen in (context, sequences):
        check_feature_columns(chosen)
    lists = {
        key: _of_steps(feature)
        for key, feature in feature_column.make_parse_example_spec(sequences).items()
    }
    return sequence_example_ops.parse_single_sequence_example(
        array_ops.reshape(serialized, []), feature_column.make_parse_example_spec(context), lists,
        example_name, name,
    )  # fmt: skip


def _of_steps(feature: Any) -> Any:
    """Return the feature of each step for the feature of an Example."""
    if isinstance(feature, example_ops.VarLenFeature):
        return feature
    return example_ops.FixedLenSequenceFeature(
        feature.shape, feature.dtype, allow_missing=feature.default_value is not None
    )
