"""The heads of Estimators, by their names in `tf.estimator`."""

from capstan.estimator.canned.classification_heads import BinaryClassHead, MultiClassHead
from capstan.estimator.canned.head import Head
from capstan.estimator.canned.multi_head import MultiHead
from capstan.estimator.canned.multi_label_head import MultiLabelHead
from capstan.estimator.canned.regression_head import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)

__all__ = [
    "BinaryClassHead",
    "Head",
    "LogisticRegressionHead",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "PoissonRegressionHead",
    "RegressionHead",
]
