"""Metrics by class, and means of distances (python/ops/metrics_impl.py)."""

from typing import Any

from capstan.api import (
    counting_ops,
    gather_ops,
    math_ops,
    matrix_ops,
    metrics_mean,
    reduce_ops,
    scope_block,
    state_ops,
)
from capstan.api import metric_state as state
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "mean_cosine_distance", "mean_iou", "mean_per_class_accuracy", "mean_relative_error",
    "mean_tensor", "percentage_below",
]  # fmt: skip

Result = state.Result


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean over classes of intersection / union, and the new confusion matrix.

    A class that neither the labels nor the predictions have is left out.
    """
    with scope_block.variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions, weights = _flat(labels, predictions, weights)
        total = state.metric_variable(
            [num_classes, num_classes], "total_confusion_matrix", dtypes.float64
        )
        current = counting_ops.confusion_matrix(
            labels, predictions, num_classes, dtype=dtypes.float64, weights=weights
        )
        update = state_ops.assign_add(total, current)
        return state.finished(
            lambda: _mean_overlap(total), update, metrics_collections, updates_collections
        )


def _mean_overlap(total: Any) -> Any:
    """Return the mean over classes of intersection / union in a confusion matrix."""
    matrix = raw.Identity(total)
    rows, columns = (
        math_ops.cast(reduce_ops.reduce_sum(matrix, axis), dtypes.float32) for axis in (0, 1)
    )
    both = math_ops.cast(matrix_ops.diag_part(matrix), dtypes.float32)
    union = rows + columns - both
    count = reduce_ops.reduce_sum(math_ops.cast(raw.NotEqual(union, 0.0), dtypes.float32))
    divisor = gather_ops.where(raw.Greater(union, 0.0), union, raw.OnesLike(union))
    total_share = reduce_ops.reduce_sum(raw.RealDiv(both, divisor), name="mean_iou")
    return raw.DivNoNan(total_share, count)


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean over classes of the accuracy. The update has the accuracy of each class."""
    with scope_block.variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels, predictions, weights = _flat(labels, predictions, weights)
        total = state.metric_variable([num_classes], "total")
        count = state.metric_variable([num_classes], "count")
        is_correct = math_ops.cast(raw.Equal(predictions, labels), dtypes.float32)
        ones = raw.OnesLike(is_correct)
        if weights is not None:
            is_correct, ones = is_correct * weights, ones * weights
        new_total = state_ops.scatter_add(total, labels, ones)
        new_count = state_ops.scatter_add(count, labels, is_correct)
        update = state.ratio(new_count, new_total, "update_op")
        return state.finished(
            lambda: reduce_ops.reduce_mean(state.ratio(count, total, None), name="mean_accuracy"),
            update,
            metrics_collections,
            updates_collections,
        )


def _flat(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return int64 labels and predictions and float32 weights, or None, as vectors."""
    predictions = convert.convert_to_tensor(predictions)
    labels = convert.convert_to_tensor(labels)
    predictions.shape.assert_is_compatible_with(labels.shape)
    labels, predictions = (
        raw.Reshape(math_ops.cast(each, dtypes.int64), [-1]) for each in (labels, predictions)
    )
    if weights is not None:
        weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
        weights = raw.Reshape(weights, [-1])
    return labels, predictions, weights


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean of 1 - the product of labels and predictions, summed along `dim`.

    Both must have the length 1 along `dim`.
    """
    predictions, labels = state.alike(predictions, labels)
    products = reduce_ops.reduce_sum(raw.Mul(predictions, labels), [dim], keepdims=True)
    name = name or "mean_cosine_distance"
    value, update = metrics_mean.mean(products, weights, name=name)
    return state.finished(
        lambda: 1.0 - value, 1.0 - update, metrics_collections, updates_collections
    )


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean of |labels - predictions| / normalizer, or of 0 where that is 0."""
    predictions, labels = state.alike(predictions, labels)
    predictions, normalizer = state.alike(predictions, normalizer)
    errors = raw.RealDiv(raw.Abs(raw.Sub(labels, predictions)), normalizer)
    is_zero = raw.Equal(normalizer, raw.ZerosLike(normalizer))
    errors = gather_ops.where(is_zero, raw.ZerosLike(labels), errors)
    name = name or "mean_relative_error"
    return metrics_mean.mean(errors, weights, metrics_collections, updates_collections, name)


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the weighted mean of each element over all batches."""
    with scope_block.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(convert.convert_to_tensor(values), dtypes.float32)
        shape = values.shape.as_list()
        total = state.metric_variable(shape, "total_tensor")
        count = state.metric_variable(shape, "count_tensor")
        number = raw.OnesLike(values)
        if weights is not None:
            weights = state.as_wide(weights, values)
            values, number = values * weights, number * weights
        new_total = state_ops.assign_add(total, values)
        with graphs.get_default_graph().control_dependencies([values]):
            new_count = state_ops.assign_add(count, number)
        update = state.ratio(new_total, new_count, "update_op")
        return state.finished(
            lambda: state.ratio(total, count, "value"),
            update,
            metrics_collections,
            updates_collections,
        )


def percentage_below(
    values: Any,
    threshold: float,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the values that are below `threshold`."""
    is_below = math_ops.cast(raw.Less(values, threshold), dtypes.float32)
    name = name or "percentage_below_threshold"
    return metrics_mean.mean(is_below, weights, metrics_collections, updates_collections, name)
