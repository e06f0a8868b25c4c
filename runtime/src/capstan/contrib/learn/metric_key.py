"""The names of metrics (contrib/learn/python/learn/estimators/metric_key.py)."""

from typing import Final


class MetricKey:
    """The names of the metrics of the heads. `%d` is a class, and `%f` is a threshold."""

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
