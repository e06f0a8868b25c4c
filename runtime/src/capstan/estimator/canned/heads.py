"""The heads of the canned Estimators, by their names in `tf.contrib.estimator`.

Source: tensorflow/contrib/estimator/python/estimator/head.py.
"""

from capstan.estimator.canned import classification_heads, head
from capstan.estimator.canned import regression_head as regression

__all__ = ["Head", "binary_classification_head", "multi_class_head", "regression_head"]

Head = head.Head
binary_classification_head = classification_heads.BinaryHead
multi_class_head = classification_heads.MultiClassHead
regression_head = regression.RegressionHead
