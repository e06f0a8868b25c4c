"""`tf.metrics`: metrics over all batches since their variables were initialised.

Each function returns the metric and an operation that adds a batch (python/ops/metrics_impl.py).
The variables are in the collections LOCAL_VARIABLES and METRIC_VARIABLES, so
`tf.local_variables_initializer` sets them to 0. `weights` are the factors of elements.
"""

# ruff: noqa: F403 - the other modules list their exports in `__all__`

from collections.abc import Callable
from typing import Any

from capstan.api import (
    math_ops,
    metrics_average_precision,
    metrics_classes,
    metrics_curves,
    metrics_thresholds,
    metrics_top_k,
    reduce_ops,
    scope_block,
    state_ops,
)
from capstan.api import metric_state as state
from capstan.api.absent import absent
from capstan.api.metrics_average_precision import *
from capstan.api.metrics_classes import *
from capstan.api.metrics_curves import *
from capstan.api.metrics_mean import mean as mean
from capstan.api.metrics_thresholds import *
from capstan.api.metrics_top_k import *
from capstan.core import dtypes
from capstan.framework.raw import raw

__all__ = [
    "accuracy", "false_negatives", "false_positives", "mean", "mean_absolute_error",
    "mean_squared_error", "precision", "recall", "root_mean_squared_error", "true_negatives",
    "true_positives", *metrics_average_precision.__all__, *metrics_classes.__all__,
    *metrics_curves.__all__, *metrics_thresholds.__all__, *metrics_top_k.__all__,
]  # fmt: skip

Result = state.Result


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return how often a prediction equals its label."""
    predictions, labels = state.alike(predictions, labels)
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = math_ops.cast(predictions, labels.dtype)
    is_correct = math_ops.cast(raw.Equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


def _errors(labels: Any, predictions: Any, distance: Callable[[Any, Any], Any]) -> Any:
    predictions, labels = state.alike(predictions, labels)
    return distance(predictions, math_ops.cast(labels, predictions.dtype))


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean of |predictions - labels|."""
    errors = _errors(labels, predictions, lambda x, y: raw.Abs(raw.Sub(x, y)))
    name = name or "mean_absolute_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean of (predictions - labels)^2."""
    errors = _errors(labels, predictions, raw.SquaredDifference)
    name = name or "mean_squared_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the square root of the mean of (predictions - labels)^2."""
    squared = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    root, update = raw.Sqrt(squared[0]), raw.Sqrt(squared[1])
    return state.finished(lambda: root, update, metrics_collections, updates_collections)


def _counted(
    default: str,
    labels: Any,
    predictions: Any,
    weights: Any,
    is_counted: Callable[[Any, Any], Any],
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> Result:
    """Return the weighted number of elements for which `is_counted(labels, predictions)`."""
    with scope_block.variable_scope(name, default, (predictions, labels, weights)):
        predictions, labels = state.alike(predictions, labels)
        chosen = is_counted(
            math_ops.cast(labels, dtypes.bool_), math_ops.cast(predictions, dtypes.bool_)
        )
        weighted, _ = state.weighted(math_ops.cast(chosen, dtypes.float32), weights)
        count = state.metric_variable([], "count")
        update = state_ops.assign_add(count, reduce_ops.reduce_sum(weighted))
        return state.finished(
            lambda: raw.Identity(count), update, metrics_collections, updates_collections
        )


_Counter = Callable[..., Result]


def _counter(name: str, purpose: str, is_counted: Callable[[Any, Any], Any]) -> _Counter:
    def count(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        return _counted(
            count.__name__, labels, predictions, weights, is_counted,
            metrics_collections, updates_collections, name,
        )  # fmt: skip

    count.__name__ = count.__qualname__ = name
    count.__doc__ = purpose
    return count


true_positives = _counter(
    "true_positives", "Return the number of predictions that are rightly true.", raw.LogicalAnd
)
true_negatives = _counter(
    "true_negatives",
    "Return the number of predictions that are rightly false.",
    lambda labels, predictions: raw.LogicalNot(raw.LogicalOr(labels, predictions)),
)
false_positives = _counter(
    "false_positives",
    "Return the number of predictions that are wrongly true.",
    lambda labels, predictions: raw.LogicalAnd(raw.LogicalNot(labels), predictions),
)
false_negatives = _counter(
    "false_negatives",
    "Return the number of predictions that are wrongly false.",
    lambda labels, predictions: raw.LogicalAnd(labels, raw.LogicalNot(predictions)),
)


def _share(default: str, other: _Counter, purpose: str) -> _Counter:
    """Return the metric true positives / (true positives + `other`)."""

    def share(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        with scope_block.variable_scope(name, default, (predictions, labels, weights)):
            right, new_right = true_positives(labels, predictions, weights)
            wrong, new_wrong = other(labels, predictions, weights)
            update = state.ratio(new_right, raw.Add(new_right, new_wrong), "update_op")
            return state.finished(
                lambda: state.ratio(right, raw.Add(right, wrong), "value"),
                update,
                metrics_collections,
                updates_collections,
            )

    share.__name__ = share.__qualname__ = default
    share.__doc__ = purpose
    return share


precision = _share(
    "precision", false_positives, "Return the share of true predictions that are right."
)
recall = _share("recall", false_negatives, "Return the share of true labels that are predicted.")


def __getattr__(name: str) -> Any:
    raise absent("tf.metrics", name)
