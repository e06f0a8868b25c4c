"""Rates of wrong predictions, and the best of many thresholds (tf.contrib.metrics).

The behaviour follows contrib/metrics/python/ops/metric_ops.py and metrics/classification.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    cond_ops,
    math_ops,
    metrics,
    metrics_thresholds,
    reduce_ops,
    scope_block,
)
from capstan.api import metric_state as state
from capstan.core import dtypes
from capstan.framework.raw import raw

__all__ = [
    "f1_score", "precision_at_recall", "recall_at_precision", "streaming_false_negative_rate",
    "streaming_false_negative_rate_at_thresholds", "streaming_false_positive_rate",
    "streaming_false_positive_rate_at_thresholds",
]  # fmt: skip

Result = state.Result
_TINY = 1e-7
_PARTS = ("true_positives", "false_positives", "false_negatives")


def _rate(scope: str, wrong: str, right: str, purpose: str) -> Callable[..., Result]:
    """Return the metric wrong / (wrong + right), of two metrics of `tf.metrics`."""

    def streaming(
        predictions: Any,
        labels: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        with scope_block.variable_scope(name, scope, (predictions, labels, weights)):
            found, labels_found = state.alike(predictions, labels)
            parts = [
                getattr(metrics, kind)(labels_found, found, weights) for kind in (wrong, right)
            ]
            values, updates = zip(*parts, strict=True)
            return state.finished(
                lambda: state.ratio(values[0], values[0] + values[1], "value"),
                state.ratio(updates[0], updates[0] + updates[1], "update_op"),
                metrics_collections,
                updates_collections,
            )

    streaming.__name__ = streaming.__qualname__ = f"streaming_{scope}"
    streaming.__doc__ = purpose
    return streaming


def _rate_at_thresholds(
    scope: str, short: str, wrong: str, right: str, purpose: str
) -> Callable[..., Result]:
    """Return the metric wrong / (wrong + right) for each threshold. Predictions come first."""
    metric = metrics_thresholds.share_at_thresholds(scope, short, wrong, right, purpose)

    def streaming(
        predictions: Any,
        labels: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        found: Result = metric(
            labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
        )
        return found

    streaming.__name__ = streaming.__qualname__ = f"streaming_{scope}"
    streaming.__doc__ = purpose
    return streaming


streaming_false_positive_rate = _rate(
    "false_positive_rate",
    "false_positives",
    "true_negatives",
    "Return the share of false labels whose predictions are true.",
)
streaming_false_negative_rate = _rate(
    "false_negative_rate",
    "false_negatives",
    "true_positives",
    "Return the share of true labels whose predictions are false.",
)
streaming_false_positive_rate_at_thresholds = _rate_at_thresholds(
    "false_positive_rate_at_thresholds",
    "fpr",
    "false_positives",
    "true_negatives",
    "Return the share of false labels whose predictions are above each threshold.",
)
streaming_false_negative_rate_at_thresholds = _rate_at_thresholds(
    "false_negative_rate_at_thresholds",
    "fnr",
    "false_negatives",
    "true_positives",
    "Return the share of true labels whose predictions are not above each threshold.",
)


def _best(
    scope: tuple[str | None, str],
    given: tuple[Any, Any, Any],
    num_thresholds: int,
    compute: Callable[[Any, Any, Any, str], Any],
    collections: tuple[Any, Any],
    *others: str,
) -> Result:
    """Return the metric `compute(true positives, false positives, false negatives, name)`.

    The counts are vectors with an element for each threshold. TensorFlow also counts the `others`.
    The other arguments are those of `metrics_thresholds.of_counts`.
    """
    thresholds = metrics_thresholds.between(num_thresholds)

    def computed(counts: metrics_thresholds.Counts, part: str) -> Any:
        right, wrong, missed = (counts[kind] for kind in _PARTS)
        return compute(right, wrong, missed, part)

    return metrics_thresholds.of_counts(
        computed, given, thresholds, (*_PARTS, *others), scope, collections
    )


def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the best harmonic mean of precision and recall of all thresholds."""

    def compute(right: Any, wrong: Any, missed: Any, part: str) -> Any:
        part = part.removesuffix("_op")  # As TensorFlow names them.
        precision = raw.RealDiv(right, _TINY + right + wrong, name=f"precision_{part}")
        recall = raw.RealDiv(right, _TINY + right + missed, name=f"recall_{part}")
        return reduce_ops.reduce_max(2.0 * precision * recall / (precision + recall + _TINY))

    return _best(
        (name, "f1"),
        (labels, predictions, weights),
        num_thresholds,
        compute,
        (metrics_collections, updates_collections),
    )


def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> Result:
    """Return the recall at the threshold whose precision is nearest to `precision`.

    In the strict mode, the precision is not below `precision`. If no threshold has one, the metric
    is 0.

    Raises:
        ValueError: `precision` is not in [0, 1].
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")

    def compute(right: Any, wrong: Any, missed: Any, part: str) -> Any:
        found = right / (right + wrong + _TINY)
        if strict_mode:
            # The reciprocals put precisions above the wanted one first, the nearest of them before.
            at = reduce_ops.argmax(1.0 / (found - precision + _TINY), 0, output_type=dtypes.int32)
        else:
            distance = math_ops.abs(found - precision)
            at = reduce_ops.argmin(distance, 0, output_type=dtypes.int32)

        def recall() -> Any:
            return raw.RealDiv(right[at], right[at] + missed[at] + _TINY, name=part)

        return (
            cond_ops.cond(found[at] >= precision, recall, lambda: 0.0) if strict_mode else recall()
        )

    return _best(
        (name, "recall_at_precision"),
        (labels, predictions, weights),
        num_thresholds,
        compute,
        (metrics_collections, updates_collections),
        "true_negatives",
    )


def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the precision at the largest threshold whose recall is at least `target_recall`.

    Raises:
        ValueError: `target_recall` is not in [0, 1].
    """
    if not 0 <= target_recall <= 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")

    def compute(right: Any, wrong: Any, missed: Any, part: str) -> Any:
        recall = right / (right + missed + _TINY)
        enough = math_ops.cast(recall >= target_recall, dtypes.int64)
        at = reduce_ops.reduce_sum(enough) - 1
        return raw.RealDiv(right[at] + _TINY, right[at] + wrong[at] + _TINY, name=part)

    return _best(
        (name, "precision_at_recall"),
        (labels, predictions, weights),
        num_thresholds,
        compute,
        (metrics_collections, updates_collections),
        "true_negatives",
    )
