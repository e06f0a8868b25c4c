"""The heads of the models of `tf.contrib.learn`: those of `tf.estimator` with contrib's metrics.

Sources: contrib/learn/python/learn/estimators/{head,metric_key}.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from capstan.api import array_ops, metrics
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.estimator.canned import heads, single_head, threshold_metrics
from capstan.estimator.canned.keys import PredictionKeys
from capstan.framework.raw import raw

_THRESHOLD: Final = 0.5
_MEAN: Final = Reduction.SUM_OVER_BATCH_SIZE


class MetricKey:
    """The names of metrics (metric_key.py). `%d` is a class, and `%f` is a threshold."""

    LOSS: Final = "loss"
    AUC: Final = "auc"
    AUC_PR: Final = "auc_precision_recall"
    CLASS_AUC: Final = "auc/class%d"
    CLASS_AUC_PR: Final = "auc_precision_recall/class%d"
    PREDICTION_MEAN: Final = "labels/prediction_mean"
    CLASS_PREDICTION_MEAN: Final = "labels/prediction_mean/class%d"
    CLASS_LOGITS_MEAN: Final = "labels/logits_mean/class%d"
    CLASS_PROBABILITY_MEAN: Final = "labels/probability_mean/class%d"
    LABEL_MEAN: Final = "labels/actual_label_mean"
    CLASS_LABEL_MEAN: Final = "labels/actual_label_mean/class%d"
    ACCURACY: Final = "accuracy"
    ACCURACY_BASELINE: Final = "accuracy/baseline_label_mean"
    ACCURACY_MEAN: Final = "accuracy/threshold_%f_mean"
    PRECISION_MEAN: Final = "precision/positive_threshold_%f_mean"
    RECALL_MEAN: Final = "recall/positive_threshold_%f_mean"


class _MultiClassHead(heads.MultiClassHead):
    """Its only metric has the same name in contrib. The Estimator adds the mean loss."""

    def _all_metrics(
        self, predictions: Mapping[str, Any], spec: single_head.LossSpec, extra: Any
    ) -> dict[str, Any]:
        with scoped(None, "metrics", ()):
            return self._metrics(predictions, spec.processed_labels, spec.weights)


class _RegressionHead(heads.RegressionHead):
    def _all_metrics(
        self, predictions: Mapping[str, Any], spec: single_head.LossSpec, extra: Any
    ) -> dict[str, Any]:
        return {}


class _BinaryClassHead(heads.BinaryClassHead):
    def _all_metrics(
        self, predictions: Mapping[str, Any], spec: single_head.LossSpec, extra: Any
    ) -> dict[str, Any]:
        with scoped(None, "metrics", ()):
            return self._metrics(predictions, spec.processed_labels, spec.weights)

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        keys, logistic = MetricKey, predictions[PredictionKeys.LOGISTIC]
        chosen = predictions[PredictionKeys.CLASS_IDS]
        reached = raw.Cast(raw.GreaterEqual(logistic, _THRESHOLD), DstT=dtypes.float32)
        found = {
            keys.ACCURACY: metrics.accuracy(labels, chosen, weights),
            keys.PREDICTION_MEAN: metrics.mean(logistic, weights),
            keys.LABEL_MEAN: metrics.mean(labels, weights),
            keys.ACCURACY_BASELINE: metrics.mean(labels, weights),
            keys.ACCURACY_MEAN % _THRESHOLD: metrics.accuracy(labels, reached, weights),
            **threshold_metrics.areas(labels, logistic, weights, keys.AUC, keys.AUC_PR),
        }
        for key, metric in (
            (keys.PRECISION_MEAN % _THRESHOLD, metrics.precision_at_thresholds),
            (keys.RECALL_MEAN % _THRESHOLD, metrics.recall_at_thresholds),
        ):
            pair = metric(labels, logistic, (_THRESHOLD,), weights)
            found[key] = tuple(array_ops.squeeze(each) for each in pair)
        return found


def classification_head(
    n_classes: int, weight_column: Any, label_keys: Sequence[str] | None
) -> heads.Head:
    """Return the head of a classifier: a binary one for two classes.

    Raises:
        ValueError: there are fewer than two classes, or `label_keys` has another size.
    """
    if n_classes == 2:
        return _BinaryClassHead(weight_column, None, label_keys, _MEAN)
    return _MultiClassHead(n_classes, weight_column, label_keys, _MEAN)


def regression_head(label_dimension: int, weight_column: Any) -> heads.Head:
    """Return the head of a regressor.

    Raises:
        ValueError: `label_dimension` is not positive.
    """
    return _RegressionHead(label_dimension, weight_column, _MEAN)
