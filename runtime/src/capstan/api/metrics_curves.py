"""The area under a curve of predictions at many thresholds (python/ops/metrics_impl.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import gather_ops, reduce_ops
from capstan.api.metrics_thresholds import KINDS, Counts, Result, between, enclosed, of_counts
from capstan.framework.raw import raw

__all__ = ["auc"]

_HEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda one, other: (one + other) / 2.0,
    "careful_interpolation": lambda one, other: (one + other) / 2.0,
    "minoring": raw.Minimum,
    "majoring": raw.Maximum,
}


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
    thresholds: Sequence[float] | None = None,
) -> Result:
    """Return the area under the curve `ROC` or `PR`, summed over thresholds.

    By default there are `num_thresholds` at equal distances. With `thresholds`, there are these,
    and one below 0 and one above 1. `summation_method` is `trapezoidal`, `careful_interpolation`,
    `minoring` or `majoring`.

    Raises:
        ValueError: the curve or the method is unknown.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in _HEIGHTS:
        raise ValueError(f"Invalid summation_method: {summation_method}")
    return of_counts(
        lambda counts, part: _area(counts, curve, summation_method, part),
        (labels, predictions, weights),
        between(num_thresholds) if thresholds is None else enclosed(thresholds),
        tuple(KINDS),
        (name, "auc"),
        (metrics_collections, updates_collections),
    )


def _area(counts: Counts, curve: str, method: str, name: str) -> Any:
    """Return the area under the curve of counts for each threshold."""
    right, wrong = counts["true_positives"], counts["false_positives"]
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(right, wrong, counts["false_negatives"], name)
    epsilon = 1.0e-6
    recall = (right + epsilon) / (right + counts["false_negatives"] + epsilon)
    if curve == "ROC":
        places, heights = wrong / (wrong + counts["true_negatives"] + epsilon), recall
    else:
        places, heights = recall, (right + epsilon) / (right + wrong + epsilon)
    widths = places[:-1] - places[1:]
    means = _HEIGHTS[method](heights[:-1], heights[1:])
    return reduce_ops.reduce_sum(raw.Mul(widths, means), name=name)


def _interpolated(right: Any, wrong: Any, missed: Any, name: str) -> Any:
    """Return the area under the PR curve of Davis and Goadrich (2006)."""
    found = right + wrong
    change = right[:-1] - right[1:]
    slope = raw.DivNoNan(change, raw.Maximum(found[:-1] - found[1:], 0.0))
    intercept = right[1:] - slope * found[1:]
    are_both = raw.LogicalAnd(raw.Greater(found[:-1], 0.0), raw.Greater(found[1:], 0.0))
    quotient = raw.DivNoNan(found[:-1], found[1:])
    quotient = gather_ops.where(are_both, quotient, raw.OnesLike(quotient))
    gain = slope * (change + intercept * raw.Log(quotient))
    return reduce_ops.reduce_sum(raw.DivNoNan(gain, right[1:] + missed[1:]), name=name)
