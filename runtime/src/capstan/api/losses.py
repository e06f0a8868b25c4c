"""`tf.losses`: weighted losses that collect themselves (python/ops/losses/losses_impl.py).

A loss is added to the collection LOSSES. `weights` multiply the loss of each element. They are a
scalar, or have the rank of the losses with sizes that are equal or 1.
"""

from typing import Any

import numpy as np

from capstan.api import control_flow_ops, losses_ops, math_ops, reduce_ops, weight_checks
from capstan.api.absent import absent
from capstan.api.loss_reduction import (
    DEFAULT,
    KEYS,
    Reduction,
    add_loss,
    compute_weighted_loss,
    get_losses,
    get_regularization_loss,
    get_regularization_losses,
    get_total_loss,
    without_last_one,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
    "get_losses", "get_regularization_loss", "get_regularization_losses", "get_total_loss",
    "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error", "mean_squared_error",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


def _require(function: str, **operands: Any) -> None:
    for name, value in operands.items():
        if value is None:
            raise ValueError(f"{name} must not be None: pass it to tf.losses.{function}")


def _operands(labels: Any, predictions: Any, function: str) -> tuple[Any, Any]:
    _require(function, labels=labels, predictions=predictions)
    predictions = math_ops.cast(convert.convert_to_tensor(predictions), dtypes.float32)
    labels = math_ops.cast(convert.convert_to_tensor(labels), dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of |predictions - labels|."""
    with scoped(scope, "absolute_difference", (predictions, labels, weights)) as inner:
        labels, predictions = _operands(labels, predictions, "absolute_difference")
        losses = raw.Abs(raw.Sub(predictions, labels))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of (predictions - labels)^2."""
    with scoped(scope, "mean_squared_error", (predictions, labels, weights)) as inner:
        labels, predictions = _operands(labels, predictions, "mean_squared_error")
        losses = raw.SquaredDifference(predictions, labels)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
    dim: int | None = None,
) -> Any:
    """Return the weighted mean of 1 - labels * predictions, for vectors of length 1 along `axis`.

    Raises:
        ValueError: `axis` is missing.
    """
    along = dim if axis is None else axis
    if along is None:
        raise ValueError("You must specify 'axis'.")
    with scoped(scope, "cosine_distance_loss", (predictions, labels, weights)) as inner:
        labels, predictions = _operands(labels, predictions, "cosine_distance")
        product = reduce_ops.reduce_sum(raw.Mul(predictions, labels), [along], keepdims=True)
        losses = raw.Sub(1.0, product)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of max(0, 1 - logits * (2 * labels - 1)). Labels are 0 or 1."""
    _require("hinge_loss", labels=labels, logits=logits)
    with scoped(scope, "hinge_loss", (logits, labels, weights)) as inner:
        labels, logits = _operands(labels, logits, "hinge_loss")
        signs = raw.Sub(raw.Mul(2.0, labels), raw.OnesLike(labels))
        losses = raw.Relu(raw.Sub(raw.OnesLike(labels), raw.Mul(signs, logits)))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of a loss that is quadratic up to the error `delta`, then linear."""
    with scoped(scope, "huber_loss", (predictions, labels, weights)) as inner:
        labels, predictions = _operands(labels, predictions, "huber_loss")
        size = raw.Abs(raw.Sub(predictions, labels))
        quadratic = raw.Minimum(size, delta)
        linear = raw.Sub(size, quadratic)
        halves = raw.Mul(0.5, raw.Mul(quadratic, quadratic))
        losses = raw.Add(halves, raw.Mul(delta, linear))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of the cross-entropy of probabilities and labels of 0 or 1."""
    with scoped(scope, "log_loss", (predictions, labels, weights)) as inner:
        labels, predictions = _operands(labels, predictions, "log_loss")
        yes = raw.Mul(labels, raw.Log(raw.Add(predictions, epsilon)))
        no = raw.Mul(raw.Sub(1.0, labels), raw.Log(raw.Add(raw.Sub(1.0, predictions), epsilon)))
        losses = raw.Sub(raw.Neg(yes), no)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
) -> Any:
    """Return the mean of (d_i - d_j)^2 over pairs of elements of an example, for the errors d."""
    with scoped(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        labels, predictions = _operands(labels, predictions, "mean_pairwise_squared_error")
        weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
        check = weight_checks.assert_broadcastable(weights, labels)
        weights = control_flow_ops.with_dependencies([check], weights)
        errors = raw.Sub(predictions, labels)
        axes = raw.Range(np.int32(1), raw.Rank(errors), np.int32(1))
        squares = reduce_ops.reduce_sum(raw.Square(errors), axes, keepdims=True)
        sums = reduce_ops.reduce_sum(errors, axes, keepdims=True)
        ones = raw.Cast(raw.NotEqual(weights, 0.0), DstT=dtypes.float32)
        counts = reduce_ops.reduce_sum(raw.Mul(raw.OnesLike(errors), ones), axes, keepdims=True)
        others = raw.Sub(counts, 1.0)
        first = raw.Mul(2.0, raw.DivNoNan(squares, others, name="value"))
        second = raw.Mul(2.0, raw.DivNoNan(raw.Square(sums), raw.Mul(counts, others), name="value"))
        weighted = raw.Mul(raw.Sub(first, second), weights)
        loss = reduce_ops.reduce_sum(weighted)
        total = raw.Select(
            raw.Greater(reduce_ops.reduce_sum(counts), 0.0), loss, raw.ZerosLike(loss), name="value"
        )
        add_loss(total, loss_collection)
        return total


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of the sigmoid cross-entropy.

    With `label_smoothing`, the labels move towards 1/2.
    """
    _require("sigmoid_cross_entropy", multi_class_labels=multi_class_labels, logits=logits)
    with scoped(
        scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)
    ) as inner:
        logits = convert.convert_to_tensor(logits)
        labels = math_ops.cast(multi_class_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = raw.Add(raw.Mul(labels, 1 - label_smoothing), 0.5 * label_smoothing)
        losses = losses_ops.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of the softmax cross-entropy.

    With `label_smoothing`, the labels move towards 1 / (number of classes).
    """
    _require("softmax_cross_entropy", onehot_labels=onehot_labels, logits=logits)
    with scoped(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as inner:
        logits = convert.convert_to_tensor(logits)
        labels = math_ops.cast(onehot_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = math_ops.cast(raw.Gather(raw.Shape(labels), np.int32(1)), logits.dtype)
            share = raw.RealDiv(float(label_smoothing), classes)
            labels = raw.Add(raw.Mul(labels, 1.0 - label_smoothing), share)
        losses = losses_ops.softmax_cross_entropy_with_logits_v2(
            labels=raw.StopGradient(labels, name="labels_stop_gradient"),
            logits=logits,
            name="xentropy",
        )
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the weighted mean of the softmax cross-entropy for the indices of classes.

    Labels and weights may have one more axis of size 1.
    """
    _require("sparse_softmax_cross_entropy", labels=labels, logits=logits)
    with scoped(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as inner:
        logits = convert.convert_to_tensor(logits)
        labels = without_last_one(convert.convert_to_tensor(labels), logits, 1)
        losses = losses_ops.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        weights = convert.convert_to_tensor(weights)
        if weights.shape.ndims != 0:
            weights = without_last_one(weights, losses, 0)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def __getattr__(name: str) -> Any:
    raise absent("tf.losses", name)
