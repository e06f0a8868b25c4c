"""The losses of the heads: the loss that is trained, and the loss that an evaluation reports.

The trained loss is the mean of the weighted losses of the examples. The reported loss is their sum
divided by the sum of the weights.
Source: contrib/learn/python/learn/estimators/head.py.
"""

import inspect
from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, losses, math_ops, nn, reduce_ops, weight_shapes
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert

Loss = Callable[[Any, Any, Any], tuple[Any, Any]]
"""A function of labels, logits and weights or None that returns both losses."""


def mean_squared(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    with scoped(None, "mean_squared_loss", (logits, labels)) as name:
        labels, logits = _columns(labels, logits)
        unweighted = math_ops.squared_difference(
            logits, math_ops.cast(labels, dtypes.float32), name=name
        )
        return weighted(unweighted, weights)


def poisson(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    with scoped(None, "_poisson_loss", (logits, labels)) as name:
        labels, logits = _columns(labels, logits)
        unweighted = nn.log_poisson_loss(labels, logits, compute_full_loss=True, name=name)
        return weighted(unweighted, weights)


def log_loss(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    """The loss of two classes with one logit."""
    with scoped(None, "log_loss_with_two_classes", (logits, labels)) as name:
        labels = _as_column(math_ops.cast(labels, dtypes.float32))
        unweighted = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)
        return weighted(unweighted, weights)


def softmax(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    """The loss of several classes.

    Raises:
        ValueError: the labels are not integers.
    """
    with scoped(None, "softmax_cross_entropy_loss", (logits, labels)) as name:
        labels = convert.convert_to_tensor(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {labels.dtype}.")
        is_column = labels.shape.ndims == 2
        if is_column:
            labels = array_ops.squeeze(labels, 1)
        unweighted = nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name=name
        )
        if is_column:
            unweighted = array_ops.expand_dims(unweighted, 1)
        return weighted(unweighted, weights)


def sigmoid(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    """The loss of examples with any number of classes. The labels are zeros and ones."""
    with scoped(None, "sigmoid_cross_entropy_loss", (logits, labels)) as name:
        labels = math_ops.cast(labels, dtypes.float32)
        unweighted = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)
        return weighted(unweighted, weights)


def hinge(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
    """The loss of a support vector machine."""
    with scoped(None, "hinge_loss", (logits, labels)) as name:
        labels = array_ops.reshape(labels, (-1, 1))
        unweighted = losses.hinge_loss(labels, logits, scope=name, reduction=Reduction.NONE)
        return weighted(unweighted, weights)


def weighted(unweighted: Any, weights: Any) -> tuple[Any, Any]:
    """Return both losses of the losses of the examples."""
    with scoped(None, "loss", (unweighted,)) as name:
        if weights is None:
            loss = reduce_ops.reduce_mean(unweighted, name=name)
            return loss, loss
        weights = weight_shapes.broadcast_weights(weights, unweighted)
        products = math_ops.multiply(unweighted, weights, name="weighted_loss")
        mean = reduce_ops.reduce_mean(products, name=name)
        average = math_ops.div(
            reduce_ops.reduce_sum(products),
            math_ops.cast(reduce_ops.reduce_sum(weights), dtypes.float32),
            name="weighted_average_loss",
        )
        return mean, average


def custom(loss_fn: Callable[..., Any] | None) -> Loss | None:
    """Return a loss function of a program as one of this module. Its one loss is both losses.

    Raises:
        ValueError: the function does not take `labels`, `logits` and `weights`.
    """
    if loss_fn is None:
        return None
    names = inspect.signature(loss_fn).parameters
    for name in ("labels", "logits", "weights"):
        if name not in names:
            raise ValueError(f"Argument {name} not found in loss_fn.")

    def both(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        more = () if weights is None else (weights,)
        loss = loss_fn(labels, logits, *more)
        return loss, loss

    return both


def _columns(labels: Any, logits: Any) -> tuple[Any, Any]:
    """Return labels and logits with the same number of axes, so that they do not broadcast."""
    labels, logits = _as_column(labels), _as_column(logits)
    logits.shape.assert_is_compatible_with(labels.shape)
    return labels, logits


def _as_column(vector: Any) -> Any:
    tensor = convert.convert_to_tensor(vector)
    return array_ops.expand_dims(tensor, 1) if tensor.shape.ndims == 1 else tensor
