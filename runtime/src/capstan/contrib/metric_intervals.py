"""The area under the ROC curve, with a confidence interval
(contrib/metrics/python/ops/metric_ops.py).

The placement value of a positive example is the share of the negative ones with smaller
predictions, where equal ones count by half; that of a negative example is defined the other way
round. Their means are the area, and their variances give its standard error (DeLong et al., 1988).
"""

import statistics
from typing import Any, Final, NamedTuple

from capstan.api import (
    array_ops,
    control_flow_ops,
    gather_ops,
    logic_ops,
    math_ops,
    nn,
    ordering_ops,
    reduce_ops,
    scope_block,
    segment_ops,
    weight_shapes,
)
from capstan.contrib import metric_curves, metric_values
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["auc_with_confidence_intervals"]

_LEAST: Final = 1e-7
"""Is added to what something is divided by."""


class AucData(NamedTuple):
    auc: Any
    lower: Any
    upper: Any


def auc_with_confidence_intervals(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    alpha: float = 0.95,
    logit_transformation: bool = True,
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
) -> tuple[AucData, Any]:
    """Return `(AucData(auc, lower, upper), update)` of all examples of all batches.

    `labels` are 0 or 1. The interval has the confidence `alpha`. With `logit_transformation` it
    lies between 0 and 1. A batch whose weights sum to less than 1 is left out. Without positive or
    without negative examples, all three values are 0. All examples are kept in local variables.

    Raises:
        ValueError: `alpha` is not between 0 and 1.
        InvalidArgumentError: in a step, a label is neither 0 nor 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.2f}")
    with scope_block.variable_scope(
        name, "auc_with_confidence_intervals", (labels, predictions, weights)
    ):
        labels, predictions = weight_shapes.remove_squeezable_dimensions(labels, predictions)
        values = math_ops.cast(predictions, dtypes.float32)
        weights = weight_shapes.broadcast_weights(1.0 if weights is None else weights, values)
        weights = array_ops.reshape(weights, [-1])
        flat = array_ops.reshape(math_ops.cast(predictions, dtypes.float64), [-1])
        given = array_ops.reshape(math_ops.cast(labels, dtypes.int64), [-1])
        counts = logic_ops.greater_equal(reduce_ops.reduce_sum(weights), 1.0)
        with graphs.get_default_graph().control_dependencies(metric_curves.check_labels(given)):
            size = gather_ops.where(counts, raw.Size(given), 0)
        columns = [
            metric_values.streaming_concat(each[:size], name=f"concat_{what}")
            for what, each in (("preds", flat), ("labels", given), ("weights", weights))
        ]
        update = control_flow_ops.group(*(change for _, change in columns))
        values = [value for value, _ in columns]
        area = _area(values[0], values[1], values[2], alpha, logit_transformation)
        graph = graphs.get_default_graph()
        graph.add_to_collections(metrics_collections or (), area)
        graph.add_to_collections(updates_collections or (), update)
        return area, update


def _area(predictions: Any, labels: Any, weights: Any, alpha: float, is_logit: bool) -> AucData:
    places, is_positive, weights = _placements(predictions, labels, weights)
    groups = []
    for is_member in (1.0 - is_positive, is_positive):
        own = weights * is_member
        total = reduce_ops.reduce_sum(own)
        mean = reduce_ops.reduce_sum(own * places) / (total + _LEAST)
        spread = reduce_ops.reduce_sum(own * math_ops.square(places - mean))
        groups.append((total, mean, spread / (total - 1.0 + _LEAST) / (total + _LEAST)))
    (total_0, mean_0, variance_0), (total_1, mean_1, variance_1) = groups
    auc = gather_ops.where(logic_ops.less(total_0, total_1), mean_1, mean_0)
    lower, upper = _interval(auc, math_ops.sqrt(variance_0 + variance_1), alpha, is_logit)
    is_exact = logic_ops.logical_or(logic_ops.equal(auc, 1.0), logic_ops.equal(auc, 0.0))
    is_known = logic_ops.logical_and(
        logic_ops.greater(total_0, 0.0), logic_ops.greater(total_1, 0.0)
    )
    zero = convert.constant(0.0, auc.dtype)
    bounds = (gather_ops.where(is_exact, auc, bound) for bound in (lower, upper))
    return AucData(*(gather_ops.where(is_known, each, zero) for each in (auc, *bounds)))


def _placements(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return the placement values of examples in the order of predictions, labels and weights."""
    descending, order = nn.top_k(predictions, raw.Size(predictions))
    ascending, order = (ordering_ops.reverse(each, [0]) for each in (descending, order))
    labels, weights = (gather_ops.gather(each, order) for each in (labels, weights))
    is_positive = math_ops.cast(labels, weights.dtype)
    _, step = array_ops.unique(ascending)

    def below(own: Any) -> Any:
        """Return the share of the weights `own` below each prediction, and half of those at it."""
        at = segment_ops.segment_sum(own, step)
        share = (reduce_ops.cumsum(at, exclusive=True) + at / 2.0) / (
            reduce_ops.reduce_sum(at) + _LEAST
        )
        return gather_ops.gather(share, step)

    of_positive = below(weights * (1.0 - is_positive))
    of_negative = 1.0 - below(weights * is_positive)
    places = of_positive * is_positive + of_negative * (1.0 - is_positive)
    return places, is_positive, weights


def _interval(auc: Any, error: Any, alpha: float, is_logit: bool) -> tuple[Any, Any]:
    reach = -statistics.NormalDist().inv_cdf((1.0 - alpha) / 2.0)
    if not is_logit:
        return auc - reach * error, auc + reach * error
    logit = math_ops.log(auc / (1.0 - auc + _LEAST))
    wide = reach * error / (auc * (1.0 - auc + _LEAST))

    def inverse(value: Any) -> Any:
        return 1.0 / (1.0 + math_ops.exp(-value) + _LEAST)

    return inverse(logit - wide), inverse(logit + wide)
