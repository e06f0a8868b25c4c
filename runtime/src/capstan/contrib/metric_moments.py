"""Numbers of values, covariances and agreement over all batches (tf.contrib.metrics).

The behaviour follows contrib/metrics/python/ops/metric_ops.py. The metrics of covariances follow
Chan, Golub and LeVeque: the moments of a batch are merged with those of the batches before.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    counting_ops,
    gather_ops,
    math_ops,
    reduce_ops,
    scope_block,
    state_ops,
)
from capstan.api import metric_state as state
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["cohen_kappa", "count", "streaming_covariance", "streaming_pearson_correlation"]

Result = state.Result


def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the number of values, or the sum of their weights."""
    with scope_block.variable_scope(name, "count", (values, weights)):
        values = convert.convert_to_tensor(values)
        number = state.metric_variable([], "count")
        _, added = state.weighted(values, weights)
        with graphs.get_default_graph().control_dependencies([values]):
            update = state_ops.assign_add(number, added)
        return state.finished(
            lambda: raw.Identity(number), update, metrics_collections, updates_collections
        )


def streaming_covariance(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the unbiased covariance of predictions and labels, NaN for fewer than two values.

    Raises:
        ValueError: the shapes do not fit.
    """
    with scope_block.variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels = state.alike(predictions, labels)
        number = state.metric_variable([], "count")
        means = [state.metric_variable([], each) for each in ("mean_prediction", "mean_label")]
        comoment = state.metric_variable([], "comoment")
        factors = None if weights is None else state.as_wide(weights, labels)
        added = reduce_ops.reduce_sum(raw.OnesLike(labels) if factors is None else factors)
        total = state_ops.assign_add(number, added)

        def weighted_sum(values: Any) -> Any:
            return reduce_ops.reduce_sum(values if factors is None else values * factors)

        batch_means, old_means = [], []
        for values, mean in zip((predictions, labels), means, strict=True):
            batch_mean = raw.DivNoNan(weighted_sum(values), added)
            change = raw.DivNoNan((batch_mean - mean) * added, total)
            old_means.append(state_ops.assign_add(mean, change) - change)
            batch_means.append(batch_mean)
        own = weighted_sum((predictions - batch_means[0]) * (labels - batch_means[1]))
        apart = (old_means[0] - batch_means[0]) * (old_means[1] - batch_means[1])
        updated = state_ops.assign_add(comoment, own + apart * ((total - added) * added / total))

        def value(part: str) -> Any:
            found = raw.RealDiv(comoment, number - 1)
            return gather_ops.where(raw.LessEqual(number, 1.0), float("nan"), found, name=part)

        with graphs.get_default_graph().control_dependencies([updated]):
            update = value("update_op")
        return state.finished(
            lambda: value("covariance"), update, metrics_collections, updates_collections
        )


def streaming_pearson_correlation(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the correlation of predictions and labels, NaN for fewer than two values.

    Raises:
        ValueError: the shapes do not fit.
    """
    with scope_block.variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels = state.alike(predictions, labels)
        if weights is not None:
            weights = state.as_wide(weights, labels)
        parts = [
            streaming_covariance(one, other, weights, name=part)
            for one, other, part in (
                (predictions, labels, "covariance"),
                (predictions, predictions, "variance_predictions"),
                (labels, labels, "variance_labels"),
            )
        ]

        def value(at: int, part: str) -> Any:
            both, first, second = (found[at] for found in parts)
            scale = raw.Mul(math_ops.sqrt(first), math_ops.sqrt(second))
            return raw.RealDiv(both, scale, name=part)

        return state.finished(
            lambda: value(0, "pearson_r"),
            value(1, "update_op"),
            metrics_collections,
            updates_collections,
        )


def cohen_kappa(
    labels: Any,
    predictions_idx: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return how far two choices of classes agree beyond chance: 1 for equal choices.

    Raises:
        ValueError: there are fewer than two classes, or the shapes do not fit.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with scope_block.variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels = convert.convert_to_tensor(labels)
        if labels.shape.with_rank_at_most(2).ndims == 2:
            labels = array_ops.squeeze(labels, axis=[-1])
        found, labels = state.alike(predictions_idx, labels)
        if weights is not None:
            weights = convert.convert_to_tensor(weights)
            weights, _ = state.alike(weights, labels)
        is_whole = weights is None or weights.dtype.is_integer
        dtype = dtypes.int64 if is_whole else dtypes.float32
        kept = [state.metric_variable([num_classes], each, dtype) for each in _SUMS]
        table = counting_ops.confusion_matrix(
            labels, found, num_classes, dtype, "counts_in_table", weights
        )
        added = (
            raw.DiagPart(table),
            reduce_ops.reduce_sum(table, 0),
            reduce_ops.reduce_sum(table, 1),
        )
        updates = [state_ops.assign_add(*pair) for pair in zip(kept, added, strict=True)]
        return state.finished(
            lambda: _kappa([raw.Identity(each) for each in kept], "value"),
            _kappa(updates, "update_op"),
            metrics_collections,
            updates_collections,
        )


_SUMS = ("po", "pe_row", "pe_col")
"""TensorFlow's names of the numbers of agreements, and of the sums of the table."""


def _kappa(sums: Sequence[Any], name: str) -> Any:
    agreed, rows, columns = sums
    total = math_ops.cast(reduce_ops.reduce_sum(rows), dtypes.float64)
    by_chance = reduce_ops.reduce_sum(
        raw.DivNoNan(math_ops.cast(rows * columns, dtypes.float64), total)
    )
    right = math_ops.cast(reduce_ops.reduce_sum(agreed), dtypes.float64)
    return state.ratio(right - by_chance, total - by_chance, name)
