"""The points of a curve, and the area under it with each prediction as a threshold
(contrib/metrics/python/ops/metric_ops.py).
"""

from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    cond_ops,
    control_flow_ops,
    counting_ops,
    gather_ops,
    logic_ops,
    math_ops,
    metrics_thresholds,
    nn,
    reduce_ops,
    scope_block,
)
from capstan.api import metric_state as state
from capstan.contrib import metric_values
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["streaming_curve_points", "streaming_dynamic_auc"]

_LEAST = 1e-6
"""Is added to what something is divided by."""


def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> state.Result:
    """Return the points of the curve `ROC` or `PR`, in the shape [num_thresholds, 2].

    A point of `ROC` is the false positive rate and the recall; a point of `PR` is the recall and
    the precision. The predictions are in [0, 1]. The update is an operation.

    Raises:
        ValueError: the curve is unknown.
    """
    _check_curve(curve)

    def computed(counts: metrics_thresholds.Counts, part: str) -> Any:
        if part == "update_op":
            return control_flow_ops.group(*counts.values())
        right, wrong = counts["true_positives"], counts["false_positives"]
        recall = (right + _LEAST) / (right + counts["false_negatives"] + _LEAST)
        if curve == "ROC":
            point = wrong / (wrong + counts["true_negatives"] + _LEAST), recall
        else:
            point = recall, (right + _LEAST) / (right + wrong + _LEAST)
        return array_ops.stack(point, axis=1)

    return metrics_thresholds.of_counts(
        computed,
        (labels, predictions, weights),
        metrics_thresholds.between(num_thresholds),
        tuple(metrics_thresholds.KINDS),
        (name, "curve_points"),
        (metrics_collections, updates_collections),
    )


def streaming_dynamic_auc(
    labels: Any,
    predictions: Any,
    curve: str = "ROC",
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
    weights: Any = None,
) -> state.Result:
    """Return the area under the curve `ROC` or `PR`, as a float64, and an operation for updates.

    Each prediction is a threshold. All examples are kept in local variables. If all labels are
    equal, the area is 0. A step with a label that is neither 0 nor 1 raises InvalidArgumentError.

    Raises:
        ValueError: the curve is unknown, or the shapes of labels and predictions differ.
    """
    _check_curve(curve)
    labels, predictions = (convert.convert_to_tensor(each) for each in (labels, predictions))
    graph = graphs.get_default_graph()
    with scope_block.variable_scope(name, "dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        scores = raw.Reshape(math_ops.cast(predictions, dtypes.float64), [-1])
        given = raw.Reshape(math_ops.cast(labels, dtypes.int64), [-1])
        with graph.control_dependencies(check_labels(given)):
            truth = raw.Identity(given)
        columns = [(scores, "concat_preds"), (truth, "concat_labels")]
        if weights is not None:
            flat = raw.Reshape(math_ops.cast(weights, dtypes.float64), [-1])
            columns.append((flat, "concat_weights"))
        kept = [metric_values.streaming_concat(each, name=part) for each, part in columns]
        update = control_flow_ops.group(*(change for _, change in kept))
        area = _area(curve, *(value for value, _ in kept))
        graph.add_to_collections(metrics_collections or (), area)
        graph.add_to_collections(updates_collections or (), update)
        return area, update


def check_labels(labels: Any) -> list[graphs.Operation]:
    """Return operations that fail unless each of the int64 labels is 0 or 1."""
    zero, one = (convert.constant(value, dtypes.int64) for value in (0, 1))
    return [
        check_ops.assert_greater_equal(
            labels, zero, message="labels must be 0 or 1, at least one is <0"
        ),
        check_ops.assert_less_equal(
            labels, one, message="labels must be 0 or 1, at least one is >1"
        ),
    ]


def _check_curve(curve: str) -> None:
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")


def _area(curve: str, scores: Any, labels: Any, weights: Any = None) -> Any:
    """Return the area under the curve of vectors, or 0 if all labels are equal."""
    if weights is None:
        weights = raw.OnesLike(scores)
    positive = weights * math_ops.cast(labels, dtypes.float64)
    total, total_positive = reduce_ops.reduce_sum(weights), reduce_ops.reduce_sum(positive)

    def integral() -> Any:
        places, heights = _curve(curve, scores, positive, weights)
        widths = math_ops.abs(places[1:] - places[:-1])
        return reduce_ops.reduce_sum((heights[1:] + heights[:-1]) / 2.0 * widths)

    is_constant = logic_ops.logical_or(
        logic_ops.equal(total_positive, 0.0), logic_ops.equal(total_positive, total)
    )
    return cond_ops.cond(is_constant, lambda: convert.constant(0.0, dtypes.float64), integral)


def _curve(curve: str, scores: Any, positive: Any, weights: Any) -> tuple[Any, Any]:
    """Return the coordinates of the points after no prediction and after each distinct one."""
    descending, order = nn.top_k(scores, raw.Size(scores))
    _, _, counts = counting_ops.unique_with_counts(descending)
    ends = array_ops.pad(reduce_ops.cumsum(counts), [[1, 0]])

    def up_to(shares: Any) -> Any:
        """Return the sums of the shares of the examples before each end."""
        sums = reduce_ops.cumsum(gather_ops.gather(shares, order))
        return gather_ops.gather(array_ops.pad(sums, [[1, 0]]), ends)

    right, found = up_to(positive), up_to(weights)
    recall = right / reduce_ops.reduce_sum(positive)
    if curve == "ROC":
        return up_to(weights - positive) / reduce_ops.reduce_sum(weights - positive), recall
    precision = gather_ops.where(logic_ops.greater(ends, 0), right / found, raw.OnesLike(right))
    return recall, precision
