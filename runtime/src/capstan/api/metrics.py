"""`tf.metrics`: metrics over all batches since their variables were initialised.

Each function returns the metric and an operation that adds a batch (python/ops/metrics_impl.py).
The variables are in the collections LOCAL_VARIABLES and METRIC_VARIABLES, so
`tf.local_variables_initializer` sets them to 0. `weights` are the factors of elements.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import (
    creation_ops,
    losses,
    math_ops,
    reduce_ops,
    scope_block,
    state_ops,
    variables,
)
from capstan.api.absent import absent
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "accuracy", "auc", "false_negatives", "false_positives", "mean", "mean_absolute_error",
    "mean_squared_error", "precision", "recall", "root_mean_squared_error", "true_negatives",
    "true_positives",
]  # fmt: skip

Result = tuple[Any, Any]
_KEYS = collections.GraphKeys


def metric_variable(shape: Sequence[int], name: str) -> Any:
    """Return a local variable of zeros for a metric."""
    return variables.Variable(
        lambda: creation_ops.zeros(shape, dtypes.float32),
        trainable=False,
        collections=[_KEYS.LOCAL_VARIABLES, _KEYS.METRIC_VARIABLES],
        validate_shape=True,
        name=name,
    )


def _finished(value: Any, update: Any, values: Sequence[str] | None, updates: Any) -> Result:
    graph = graphs.get_default_graph()
    for names, tensor in ((values, value), (updates, update)):
        for name in [names] if isinstance(names, str) else names or ():
            graph.add_to_collection(name, tensor)
    return value, update


def _ratio(total: Any, count: Any, name: str) -> Any:
    """Return total / count, or 0 if the count is 0."""
    return raw.DivNoNan(total, count, name=name)


def _weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    """Return the values times the weights, and the sum of the weights."""
    if weights is None:
        return values, math_ops.cast(raw.Size(values), dtypes.float32)
    weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
    weights = losses.without_last_one(weights, values, 0)
    wide = raw.Mul(weights, raw.OnesLike(values))
    return raw.Mul(values, wide), reduce_ops.reduce_sum(wide)


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the weighted mean of the values."""
    with scope_block.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(convert.convert_to_tensor(values), dtypes.float32)
        total, count = metric_variable([], "total"), metric_variable([], "count")
        weighted, number = _weighted(values, weights)
        new_total = state_ops.assign_add(total, reduce_ops.reduce_sum(weighted))
        with graphs.get_default_graph().control_dependencies([weighted]):
            new_count = state_ops.assign_add(count, number)
        value, update = _ratio(total, count, "value"), _ratio(new_total, new_count, "update_op")
        return _finished(value, update, metrics_collections, updates_collections)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return how often a prediction equals its label."""
    predictions, labels = _alike(predictions, labels)
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = math_ops.cast(predictions, labels.dtype)
    is_correct = math_ops.cast(raw.Equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


def _alike(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Return tensors of one rank. An axis of size 1 at the end of only one of them is removed."""
    predictions = convert.convert_to_tensor(predictions)
    labels = convert.convert_to_tensor(labels)
    predictions = losses.without_last_one(predictions, labels, 0)
    labels = losses.without_last_one(labels, predictions, 0)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def _errors(labels: Any, predictions: Any, distance: Callable[[Any, Any], Any]) -> Any:
    predictions, labels = _alike(predictions, labels)
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
    value, update = (raw.Sqrt(each) for each in squared)
    return _finished(value, update, metrics_collections, updates_collections)


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
        predictions, labels = _alike(predictions, labels)
        chosen = is_counted(
            math_ops.cast(labels, dtypes.bool_), math_ops.cast(predictions, dtypes.bool_)
        )
        weighted, _ = _weighted(math_ops.cast(chosen, dtypes.float32), weights)
        count = metric_variable([], "count")
        value = raw.Identity(count)
        update = state_ops.assign_add(count, reduce_ops.reduce_sum(weighted))
        return _finished(value, update, metrics_collections, updates_collections)


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
            value = _ratio(right, raw.Add(right, wrong), "value")
            update = _ratio(new_right, raw.Add(new_right, new_wrong), "update_op")
            return _finished(value, update, metrics_collections, updates_collections)

    share.__name__ = share.__qualname__ = default
    share.__doc__ = purpose
    return share


precision = _share(
    "precision", false_positives, "Return the share of true predictions that are right."
)
recall = _share("recall", false_negatives, "Return the share of true labels that are predicted.")


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
) -> Result:
    """Return the area under the ROC curve, summed over thresholds with the trapezoidal rule.

    Raises:
        NotImplementedError: another curve or summation is asked for.
    """
    if curve != "ROC" or summation_method != "trapezoidal":
        raise NotImplementedError("auc has only curve='ROC' and summation_method='trapezoidal'")
    with scope_block.variable_scope(name, "auc", (labels, predictions, weights)):
        predictions, labels = _alike(predictions, labels)
        rates = np.arange(1, num_thresholds - 1, dtype=np.float64) / (num_thresholds - 1)
        thresholds = np.concatenate([[-1e-7], rates, [1.0 + 1e-7]]).astype(np.float32)
        flat = raw.Reshape(math_ops.cast(predictions, dtypes.float32), [1, -1])
        is_true = raw.Reshape(math_ops.cast(labels, dtypes.bool_), [1, -1])
        is_predicted = raw.Greater(flat, thresholds[:, None])
        share: Any = None
        if weights is not None:
            weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
            wide = raw.Mul(weights, raw.OnesLike(math_ops.cast(predictions, dtypes.float32)))
            share = raw.Reshape(wide, [1, -1])
        counts: dict[str, tuple[Any, Any]] = {}
        for kind, chosen in (
            ("true_positives", raw.LogicalAnd(is_predicted, is_true)),
            ("false_negatives", raw.LogicalAnd(raw.LogicalNot(is_predicted), is_true)),
            (
                "true_negatives",
                raw.LogicalNot(raw.LogicalOr(is_predicted, is_true)),
            ),
            ("false_positives", raw.LogicalAnd(is_predicted, raw.LogicalNot(is_true))),
        ):
            numbers = math_ops.cast(chosen, dtypes.float32)
            numbers = numbers if share is None else raw.Mul(numbers, share)
            variable = metric_variable([num_thresholds], kind)
            added = state_ops.assign_add(variable, reduce_ops.reduce_sum(numbers, 1))
            counts[kind] = variable, added
        value, update = (
            _area({kind: pair[at] for kind, pair in counts.items()}, operation)
            for at, operation in enumerate(("value", "update_op"))
        )
        return _finished(value, update, metrics_collections, updates_collections)


def _area(counts: dict[str, Any], name: str) -> Any:
    """Return the area under the ROC curve of counts for each threshold."""
    epsilon = 1.0e-6
    positives, negatives = counts["true_positives"], counts["true_negatives"]
    found = raw.Add(positives, epsilon)
    heights = raw.RealDiv(found, raw.Add(raw.Add(positives, counts["false_negatives"]), epsilon))
    wrong = counts["false_positives"]
    places = raw.RealDiv(wrong, raw.Add(raw.Add(wrong, negatives), epsilon))
    last = raw.Slice(places, [0], raw.Sub(raw.Shape(places), 1))
    widths = raw.Sub(last, raw.Slice(places, [1], [-1]))
    first = raw.Slice(heights, [0], raw.Sub(raw.Shape(heights), 1))
    means = raw.RealDiv(raw.Add(first, raw.Slice(heights, [1], [-1])), 2.0)
    return reduce_ops.reduce_sum(raw.Mul(widths, means), name=name)


def __getattr__(name: str) -> Any:
    raise absent("tf.metrics", name)
