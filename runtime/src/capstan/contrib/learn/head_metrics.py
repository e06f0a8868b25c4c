"""The metrics of the heads (contrib/learn/python/learn/estimators/head.py).

Each function returns the value and the update of a metric. `class_id` chooses a column.
"""

from typing import Any

from capstan.api import array_ops, math_ops, metrics, weight_shapes
from capstan.core import dtypes
from capstan.framework.raw import raw

Metric = tuple[Any, Any]


def mean(values: Any, weights: Any = None, class_id: int | None = None) -> Metric:
    """The weighted mean of predictions or of labels."""
    values, weights = _chosen(math_ops.cast(values, dtypes.float32), weights, class_id)
    return metrics.mean(values, weights)


def share(classes: Any, weights: Any, class_id: int) -> Metric:
    """The weighted share of the class `class_id` among integers."""
    is_class = raw.Equal(math_ops.cast(classes, dtypes.int32), class_id)
    return metrics.mean(math_ops.cast(is_class, dtypes.float32), weights)


def auc(
    probabilities: Any, labels: Any, weights: Any, class_id: int | None = None, curve: str = "ROC"
) -> Metric:
    """The area under a curve of probabilities. Labels become booleans."""
    labels = math_ops.cast(labels, dtypes.bool_)
    if class_id is not None:
        labels = labels[:, class_id]
    values, weights = _chosen(math_ops.cast(probabilities, dtypes.float32), weights, class_id)
    return metrics.auc(labels, values, weights, curve=curve)


def accuracy_at(probabilities: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    reached = math_ops.cast(raw.GreaterEqual(probabilities, threshold), dtypes.float32)
    return metrics.accuracy(labels, reached, weights)


def precision_at(probabilities: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    return _first(metrics.precision_at_thresholds(labels, probabilities, (threshold,), weights))


def recall_at(probabilities: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    return _first(metrics.recall_at_thresholds(labels, probabilities, (threshold,), weights))


def _first(pair: Metric) -> Metric:
    value, update = pair
    return array_ops.squeeze(value), array_ops.squeeze(update)


def _chosen(values: Any, weights: Any, class_id: int | None) -> Metric:
    """Return values and weights in the same shape, or one column of both."""
    if weights is not None:
        weights = weight_shapes.broadcast_weights(math_ops.cast(weights, dtypes.float32), values)
    if class_id is None:
        return values, weights
    return values[:, class_id], None if weights is None else weights[:, class_id]
