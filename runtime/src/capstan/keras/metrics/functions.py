"""The functions of `tf.keras.metrics` that return whether each prediction is right.

They return numbers of the type `tf.keras.backend.floatx()`, one for each example.
"""

from typing import Any

from capstan.api import array_ops, logic_ops, math_ops, nn, reduce_ops
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework import convert
from capstan.keras.metrics import arguments


def _numbers(is_right: Any) -> Any:
    return math_ops.cast(is_right, settings.SETTINGS.floatx)


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Return 1 for each prediction that equals its label, and else 0."""
    labels, predictions = (convert.convert_to_tensor(each) for each in (y_true, y_pred))
    predictions.shape.assert_is_compatible_with(labels.shape)
    return _numbers(logic_ops.equal(labels, math_ops.cast(predictions, labels.dtype)))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """Return the mean along the last axis of 1 for each prediction on the side of its label.

    Predictions above the threshold count as 1, and others as 0.
    """
    predictions = convert.convert_to_tensor(y_pred)
    labels = math_ops.cast(y_true, predictions.dtype)
    is_above = predictions > math_ops.cast(threshold, predictions.dtype)
    is_right = logic_ops.equal(labels, math_ops.cast(is_above, predictions.dtype))
    return reduce_ops.reduce_mean(_numbers(is_right), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Return 1 if the largest prediction is that of the largest label, along the last axis."""
    label, prediction = (reduce_ops.argmax(each, axis=-1) for each in (y_true, y_pred))
    return _numbers(logic_ops.equal(label, prediction))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Return 1 if the largest prediction is that of the class that the label names."""
    labels = _without_classes(y_true, y_pred)
    prediction = math_ops.cast(reduce_ops.argmax(y_pred, axis=-1), labels.dtype)
    return _numbers(logic_ops.equal(labels, prediction))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Return 1 if the prediction of the largest label is one of the `k` largest ones."""
    return _numbers(nn.in_top_k(y_pred, reduce_ops.argmax(y_true, axis=-1), k))


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Return 1 if the prediction of the class that the label names is one of the `k` largest."""
    labels = math_ops.cast(_without_classes(y_true, y_pred), dtypes.int32)
    return _numbers(nn.in_top_k(y_pred, labels, k))


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Return the cosine of the angle between labels and predictions along an axis."""
    predictions = convert.convert_to_tensor(y_pred)
    labels = math_ops.cast(y_true, predictions.dtype)
    units = [nn.l2_normalize(each, axis=axis) for each in (labels, predictions)]
    return reduce_ops.reduce_sum(units[0] * units[1], axis=axis)


def _without_classes(y_true: Any, y_pred: Any) -> Any:
    labels = convert.convert_to_tensor(y_true)
    return array_ops.squeeze(labels, [-1]) if arguments.same_rank([labels, y_pred]) else labels
