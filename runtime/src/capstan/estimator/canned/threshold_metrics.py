"""The metrics of probabilities that depend on thresholds."""

from collections.abc import Iterable
from typing import Any

from capstan.api import array_ops, metrics
from capstan.core import dtypes
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework.raw import raw


def checked(thresholds: Iterable[float] | None) -> tuple[float, ...]:
    """Return the thresholds.

    Raises:
        ValueError: one is not between 0 and 1.
    """
    found = tuple(thresholds or ())
    if not all(0.0 < threshold < 1.0 for threshold in found):
        raise ValueError(f"thresholds not in (0, 1): {found}.")
    return found


def areas(
    labels: Any, probabilities: Any, weights: Any, roc_key: str, pr_key: str
) -> dict[str, Any]:
    """Return the metrics of the areas under the ROC curve and under precision over recall."""
    return {
        roc_key: metrics.auc(labels, probabilities, weights, name=roc_key),
        pr_key: metrics.auc(labels, probabilities, weights, curve="PR", name=pr_key),
    }


def at(labels: Any, probabilities: Any, weights: Any, threshold: float) -> dict[str, Any]:
    """Return the accuracy, precision and recall at a threshold."""
    keys = MetricKeys
    positive = raw.Cast(raw.GreaterEqual(probabilities, threshold), DstT=dtypes.float32)
    accuracy = keys.ACCURACY_AT_THRESHOLD % threshold
    found = {accuracy: metrics.accuracy(labels, positive, weights, name=accuracy)}
    for key, metric in (
        (keys.PRECISION_AT_THRESHOLD % threshold, metrics.precision_at_thresholds),
        (keys.RECALL_AT_THRESHOLD % threshold, metrics.recall_at_thresholds),
    ):
        pair = metric(labels, probabilities, (threshold,), weights, name=key)
        found[key] = tuple(array_ops.squeeze(each) for each in pair)
    return found
