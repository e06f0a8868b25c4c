"""The features of serialized Examples that a classifier or a regressor reads.

Source: tensorflow/python/estimator/canned/parsing_utils.py.
"""

from collections.abc import Iterable
from typing import Any

from capstan.api import example_ops, feature_column
from capstan.api.feature_column import dense
from capstan.core import dtypes


def classifier_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: Any = dtypes.int64,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the argument `features` of `tf.parse_example` for columns, a label and a weight.

    The label has one element. `weight_column` is the name of a feature or a numeric column.

    Raises:
        ValueError: the label or the weight is also a feature, or `weight_column` is another column.
    """
    return regressor_parse_example_spec(
        feature_columns, label_key, label_dtype, label_default, 1, weight_column
    )


def regressor_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: Any = dtypes.float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Do as `classifier_parse_example_spec`, for a label of `label_dimension` elements.

    Raises:
        ValueError: the label or the weight is also a feature, or `weight_column` is another column.
    """
    spec: dict[str, Any] = feature_column.make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {spec.keys()}"
        )
    spec[label_key] = example_ops.FixedLenFeature((label_dimension,), label_dtype, label_default)
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = feature_column.numeric_column(weight_column)
    if not isinstance(weight_column, dense.NumericColumn):
        raise ValueError(
            "weight_column should be an instance of tf.feature_column.numeric_column. Given type: "
            f"{type(weight_column)} value: {weight_column}"
        )
    weight = feature_column.make_parse_example_spec([weight_column])
    if weight.keys() & spec.keys():
        raise ValueError(
            f"weight_column should not be used as feature. weight_column: {list(weight)}, "
            f"features: {spec.keys()}"
        )
    return {**spec, **weight}
