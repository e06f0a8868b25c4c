"""The losses of each example, as functions of labels and predictions (python/keras/losses.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    clip_ops,
    logic_ops,
    math_ops,
    nn,
    reduce_ops,
    smart_cond,
)
from capstan.api.layers import settings
from capstan.framework import convert
from capstan.keras import crossentropies


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return the labels and predictions as tensors of the type of the predictions."""
    predictions = convert.convert_to_tensor(y_pred)
    return math_ops.cast(y_true, predictions.dtype), predictions


def _mean(values: Any) -> Any:
    return reduce_ops.reduce_mean(values, axis=-1)


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of (y_true - y_pred)^2 along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    return _mean(math_ops.squared_difference(predictions, labels))


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of |y_true - y_pred| along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    return _mean(math_ops.abs(predictions - labels))


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """Return 100 times the mean of |y_true - y_pred| / |y_true| along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    divisor = math_ops.maximum(math_ops.abs(labels), settings.SETTINGS.epsilon)
    return 100.0 * _mean(math_ops.abs((labels - predictions) / divisor))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """Return the mean squared difference of log(1 + value) along the last axis.

    Values below `tf.keras.backend.epsilon()` count as this number.
    """
    logs = [
        math_ops.log(math_ops.maximum(each, settings.SETTINGS.epsilon) + 1.0)
        for each in _pair(y_true, y_pred)
    ]
    return _mean(math_ops.squared_difference(logs[1], logs[0]))


def _signed(labels: Any) -> Any:
    """Return labels -1 and 1, for labels of which all are 0 or 1 or all are -1 or 1."""
    is_one_of_both = logic_ops.logical_or(
        logic_ops.equal(labels, 0.0), logic_ops.equal(labels, 1.0)
    )
    is_binary = reduce_ops.reduce_all(is_one_of_both)
    return smart_cond.smart_cond(is_binary, lambda: 2.0 * labels - 1.0, lambda: labels * 1.0)


def hinge(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of max(1 - y_true * y_pred, 0) along the last axis.

    The labels are -1 or 1. Labels 0 and 1 stand for -1 and 1.
    """
    labels, predictions = _pair(y_true, y_pred)
    return _mean(math_ops.maximum(1.0 - _signed(labels) * predictions, 0.0))


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of the squares of the losses of `hinge`, along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    return _mean(math_ops.square(math_ops.maximum(1.0 - _signed(labels) * predictions, 0.0)))


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """Return max(0, 1 + the largest wrong prediction - the right one), along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    right = reduce_ops.reduce_sum(labels * predictions, axis=-1)
    wrong = reduce_ops.reduce_max((1.0 - labels) * predictions, axis=-1)
    return math_ops.maximum(0.0, wrong - right + 1.0)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of log(cosh(y_pred - y_true)) along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    error = predictions - labels
    return _mean(error + nn.softplus(-2.0 * error) - math_ops.log(math_ops.cast(2, error.dtype)))


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    labels, predictions = (
        math_ops.cast(each, settings.SETTINGS.floatx) for each in (y_true, y_pred)
    )
    error = math_ops.abs(predictions - labels)
    quadratic = math_ops.minimum(error, delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Any:
    """Return the cross entropy of the classes on the last axis, for labels of that shape.

    The predictions are probabilities, or logits with `from_logits`. `label_smoothing` is the share
    of each label that is spread over all classes.
    """
    labels, predictions = _pair(y_true, y_pred)
    if not _is_zero(label_smoothing):
        count = math_ops.cast(array_ops.shape(labels)[1], predictions.dtype)
        labels = labels * (1.0 - label_smoothing) + label_smoothing / count
    return crossentropies.categorical_crossentropy(labels, predictions, from_logits)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross entropy of the classes on an axis, for labels that are numbers of classes.

    The predictions are probabilities, or logits with `from_logits`.
    """
    return crossentropies.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Any:
    """Return the mean cross entropy of predictions of 0 or 1, along the last axis.

    The predictions are probabilities, or logits with `from_logits`. `label_smoothing` moves the
    labels towards 0.5.
    """
    labels, predictions = _pair(y_true, y_pred)
    if not _is_zero(label_smoothing):
        labels = labels * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return _mean(crossentropies.binary_crossentropy(labels, predictions, from_logits))


def _is_zero(share: Any) -> bool:
    return isinstance(share, int | float) and share == 0


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    """Return the sum of y_true * log(y_true / y_pred) along the last axis.

    Both are clipped to [epsilon, 1].
    """
    labels, predictions = (
        clip_ops.clip_by_value(each, settings.SETTINGS.epsilon, 1.0)
        for each in _pair(y_true, y_pred)
    )
    return reduce_ops.reduce_sum(labels * math_ops.log(labels / predictions), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """Return the mean of y_pred - y_true * log(y_pred) along the last axis."""
    labels, predictions = _pair(y_true, y_pred)
    return _mean(predictions - labels * math_ops.log(predictions + settings.SETTINGS.epsilon))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Return the cosine of the angle between labels and predictions along an axis.

    It is 1 for equal directions, as in TensorFlow 1.14 and 1.15. A training that minimizes it turns
    the vectors away from each other: write a loss of the negative value. TensorFlow 1.13 and 2
    return the negative value.
    """
    units = [nn.l2_normalize(each, axis=axis) for each in _pair(y_true, y_pred)]
    return reduce_ops.reduce_sum(units[0] * units[1], axis=axis)
