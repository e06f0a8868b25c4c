"""The names of predictions (contrib/learn/python/learn/estimators/prediction_key.py)."""

from typing import Final


class PredictionKey:
    """The names of the predictions of the heads."""

    CLASSES: Final = "classes"
    PROBABILITIES: Final = "probabilities"
    LOGITS: Final = "logits"
    LOGISTIC: Final = "logistic"
    SCORES: Final = "scores"
    TOP_K: Final = "top_k"
    GENERIC: Final = "output"
