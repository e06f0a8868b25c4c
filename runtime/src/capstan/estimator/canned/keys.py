"""The names of metrics and predictions (tensorflow/python/estimator/canned/metric_keys.py,
prediction_keys.py)."""

from typing import Final


class MetricKeys:
    """The names of metrics. Those with `%g` are made for each threshold."""

    LOSS: Final = "loss"
    LOSS_MEAN: Final = "average_loss"
    LOSS_REGULARIZATION: Final = "regularization_loss"
    ACCURACY: Final = "accuracy"
    PRECISION: Final = "precision"
    RECALL: Final = "recall"
    ACCURACY_BASELINE: Final = "accuracy_baseline"
    AUC: Final = "auc"
    AUC_PR: Final = "auc_precision_recall"
    LABEL_MEAN: Final = "label/mean"
    PREDICTION_MEAN: Final = "prediction/mean"
    PROBABILITY_MEAN: Final = "probability_mean"
    ACCURACY_AT_THRESHOLD: Final = "accuracy/positive_threshold_%g"
    PRECISION_AT_THRESHOLD: Final = "precision/positive_threshold_%g"
    RECALL_AT_THRESHOLD: Final = "recall/positive_threshold_%g"


class PredictionKeys:
    """The names of predictions."""

    ALL_CLASSES: Final = "all_classes"
    ALL_CLASS_IDS: Final = "all_class_ids"
    CLASSES: Final = "classes"
    CLASS_IDS: Final = "class_ids"
    LOGISTIC: Final = "logistic"
    LOGITS: Final = "logits"
    PREDICTIONS: Final = "predictions"
    PROBABILITIES: Final = "probabilities"
