"""`tf.contrib.metrics`: the metrics of before TensorFlow 1.0, with predictions before labels.

The behaviour follows contrib/metrics/python/ops/metric_ops.py.
"""

# ruff: noqa: F403 - the other modules list their exports in `__all__`

from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan.api import math_ops, metrics_average_precision, nn, reduce_ops, sets
from capstan.api import metrics as metrics_of_tf
from capstan.api.absent import absent
from capstan.api.counting_ops import confusion_matrix as confusion_matrix
from capstan.api.scoped import scoped
from capstan.contrib import (
    metric_bins,
    metric_curves,
    metric_intervals,
    metric_moments,
    metric_rates,
    metric_values,
)
from capstan.contrib.metric_bins import *
from capstan.contrib.metric_curves import *
from capstan.contrib.metric_intervals import *
from capstan.contrib.metric_moments import *
from capstan.contrib.metric_rates import *
from capstan.contrib.metric_values import *
from capstan.core import alias, dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    *("accuracy", "aggregate_metric_map", "aggregate_metrics", "confusion_matrix"),
    *("sparse_recall_at_top_k", "streaming_recall_at_k"),
    *("streaming_sparse_average_precision_at_top_k", "streaming_sparse_precision_at_top_k"),
    *metric_bins.__all__,
    *metric_curves.__all__,
    *metric_intervals.__all__,
    *metric_moments.__all__,
    *metric_rates.__all__,
    *metric_values.__all__,
]

_SETS: Final[Mapping[str, str]] = {
    f"set_{name}": name for name in ("difference", "intersection", "size", "union")
}
"""The operations on sets, by their names in `tf.sets`."""
_SWAPPED: Final[Mapping[str, str]] = {
    **{
        f"streaming_{name}": name
        for name in (
            *("accuracy", "auc", "false_negatives", "false_negatives_at_thresholds"),
            *("false_positives", "false_positives_at_thresholds", "mean_absolute_error"),
            *("mean_cosine_distance", "mean_iou", "mean_relative_error", "mean_squared_error"),
            *("precision", "precision_at_thresholds", "recall", "recall_at_thresholds"),
            *("root_mean_squared_error", "sensitivity_at_specificity"),
            *("specificity_at_sensitivity", "true_negatives", "true_negatives_at_thresholds"),
            *("true_positives", "true_positives_at_thresholds"),
        )
    },
    "streaming_sparse_average_precision_at_k": "average_precision_at_k",
    "streaming_sparse_precision_at_k": "precision_at_k",
    "streaming_sparse_recall_at_k": "recall_at_k",
}
"""The metrics of `tf.metrics` whose first two parameters are swapped."""
_SAME: Final[Mapping[str, str]] = {
    "streaming_mean": "mean",
    "streaming_mean_tensor": "mean_tensor",
    "streaming_percentage_less": "percentage_below",
}


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """Return the share of predictions that equal their labels, of these values only.

    Raises:
        ValueError: the dtypes differ, or are neither integer, bool nor string.
    """
    with scoped(name, "accuracy", (predictions, labels)):
        predictions, labels = (convert.convert_to_tensor(each) for each in (predictions, labels))
        kind = predictions.dtype.base_dtype
        if not (kind.is_integer or kind in (dtypes.bool_, dtypes.string)):
            raise ValueError(f"predictions should be string, bool or integer, but is {kind}")
        if labels.dtype.base_dtype is not kind:
            raise ValueError(
                f"Dtypes of predictions and labels should match. Given: predictions ({kind}) and "
                f"labels ({labels.dtype.base_dtype})"
            )
        is_correct = math_ops.cast(raw.Equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_ops.reduce_mean(is_correct)
        counts = raw.Mul(raw.OnesLike(is_correct), weights)
        return raw.RealDiv(
            reduce_ops.reduce_sum(raw.Mul(is_correct, weights)), reduce_ops.reduce_sum(counts)
        )


def aggregate_metrics(*value_update_tuples: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return the list of the metrics, and the list of their updates.

    Raises:
        ValueError: there are no metrics.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(
    names_to_tuples: Mapping[str, tuple[Any, Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metrics by their names, and their updates by their names."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}


def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return how often the label is among the `k` classes with the largest predictions."""
    is_found = math_ops.cast(nn.in_top_k(predictions, labels, k), dtypes.float32)
    return metrics_of_tf.mean(
        is_found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the share of the predicted classes `top_k_predictions` that are labels."""
    return metrics_of_tf.precision_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the mean of the average precisions of the predicted classes `top_k_predictions`.

    Raises:
        ValueError: the last dimension of `top_k_predictions` is not known.
    """
    return metrics_average_precision.average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )


def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the share of the labels that are among the predicted classes `top_k_predictions`."""
    return metrics_of_tf.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def _swapped(metric: Callable[..., Any], name: str) -> Callable[..., Any]:
    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = f"Return tf.metrics.{metric.__name__}(labels, predictions, ...)."
    return streaming


alias.grow(
    __name__,
    {
        "python.ops": (__name__,),
        **dict.fromkeys(
            [
                f"python.ops.{name}_ops"
                for name in ("confusion_matrix", "histogram", "metric", "set")
            ],
            (__name__,),
        ),
        "python.metrics.classification": (__name__,),
    },
)


def __getattr__(name: str) -> Any:
    if name in _SWAPPED:
        return _swapped(getattr(metrics_of_tf, _SWAPPED[name]), name)
    if name in _SAME:
        return getattr(metrics_of_tf, _SAME[name])
    if name in _SETS:
        return getattr(sets, _SETS[name])
    raise absent("tf.contrib.metrics", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_SETS, *_SWAPPED, *_SAME})
