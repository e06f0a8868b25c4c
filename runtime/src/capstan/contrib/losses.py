"""`tf.contrib.losses`: the losses of before TensorFlow 1.0.

The behaviour follows contrib/losses/python/losses/loss_ops.py.

The predictions come before the labels. Weights may have fewer axes than the losses: a vector has a
weight for each example.
"""

from typing import Any

from capstan.api import loss_reduction, math_ops, reduce_ops
from capstan.api import losses as losses_of_tf
from capstan.api.absent import absent
from capstan.api.loss_reduction import get_losses as get_losses
from capstan.api.loss_reduction import get_regularization_losses as get_regularization_losses
from capstan.api.loss_reduction import get_total_loss as get_total_loss
from capstan.api.scoped import scoped
from capstan.contrib.framework import argument_scopes
from capstan.core import alias, dtypes, public
from capstan.framework import convert
from capstan.framework.raw import raw

add_loss = argument_scopes.add_arg_scope(loss_reduction.add_loss)


def _added(loss: Any) -> Any:
    """Add a loss to the collection that the scope of arguments of `add_loss` names. Return it."""
    add_loss(loss)
    return loss


def _broadcast(weights: Any, losses: Any) -> Any:
    """Return the weights with an axis of size 1 for each axis that only the losses have."""
    weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
    if weights.shape.ndims is None or losses.shape.ndims is None:
        raise ValueError(
            "The ranks of weights and losses must be known: "
            f"weights.shape={weights.shape}, losses.shape={losses.shape}"
        )
    missing = losses.shape.ndims - weights.shape.ndims
    if weights.shape.ndims > 1 and weights.shape.as_list()[-1] == 1:
        weights, missing = raw.Squeeze(weights, squeeze_dims=[-1]), missing + 1
    if not weights.shape.ndims or missing <= 0:
        return weights
    return raw.Reshape(weights, raw.ConcatV2([raw.Shape(weights), [1] * missing], 0))


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Any:
    """Return the sum of the weighted losses over the number of losses whose weight is not 0."""
    losses = convert.convert_to_tensor(losses)
    return _added(
        loss_reduction.compute_weighted_loss(losses, _broadcast(weights, losses), scope, None)
    )


def absolute_difference(
    predictions: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Return the weighted mean of |predictions - labels|."""
    predictions = convert.convert_to_tensor(predictions)
    weights = _broadcast(weights, predictions)
    return _added(losses_of_tf.absolute_difference(labels, predictions, weights, scope, None))


def mean_squared_error(
    predictions: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Return the weighted mean of (predictions - labels)^2."""
    predictions = convert.convert_to_tensor(predictions)
    weights = _broadcast(weights, predictions)
    return _added(losses_of_tf.mean_squared_error(labels, predictions, weights, scope, None))


def log_loss(
    predictions: Any,
    labels: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Any:
    """Return the weighted mean of the cross-entropy of probabilities and labels of 0 or 1."""
    predictions = convert.convert_to_tensor(predictions)
    weights = _broadcast(weights, predictions)
    return _added(losses_of_tf.log_loss(labels, predictions, weights, epsilon, scope, None))


def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
) -> Any:
    """Return the weighted mean of the sigmoid cross-entropy."""
    logits = convert.convert_to_tensor(logits)
    return _added(
        losses_of_tf.sigmoid_cross_entropy(
            multi_class_labels, logits, _broadcast(weights, logits), label_smoothing, scope, None
        )
    )


def softmax_cross_entropy(
    logits: Any,
    onehot_labels: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
) -> Any:
    """Return the weighted mean of the softmax cross-entropy."""
    weights = convert.convert_to_tensor(weights)
    if weights.shape.ndims == 2:
        weights = raw.Squeeze(weights, squeeze_dims=[-1])
    return _added(
        losses_of_tf.softmax_cross_entropy(
            onehot_labels, logits, weights, label_smoothing, scope, None
        )
    )


def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Return the weighted mean of the softmax cross-entropy for the indices of classes."""
    return _added(losses_of_tf.sparse_softmax_cross_entropy(labels, logits, weights, scope, None))


def hinge_loss(logits: Any, labels: Any, scope: str | None = None) -> Any:
    """Return max(0, 1 - logits * (2 * labels - 1)) for each element. Labels are 0 or 1.

    The result is not a scalar and is in no collection.
    """
    return losses_of_tf.hinge_loss(
        labels, logits, scope=scope, loss_collection=None,
        reduction=loss_reduction.Reduction.NONE,
    )  # fmt: skip


def cosine_distance(
    predictions: Any,
    labels: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
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
        predictions, labels = (
            math_ops.cast(convert.convert_to_tensor(each), dtypes.float32)
            for each in (predictions, labels)
        )
        product = reduce_ops.reduce_sum(raw.Mul(predictions, labels), [along])
        return compute_weighted_loss(raw.Sub(1.0, product), weights, inner)


def mean_pairwise_squared_error(
    predictions: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """Return the sum over examples of the mean of (d_i - d_j)^2, for the errors d of an example.

    The mean is over all pairs of its n elements, so the divisor is n^2. `tf.losses` divides by
    n (n - 1), the number of pairs of different elements.

    Raises:
        ValueError: the shapes of predictions and labels differ, or a rank is unknown.
    """
    with scoped(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        predictions, labels, weights = map(
            convert.convert_to_tensor, (predictions, labels, weights)
        )
        predictions.shape.assert_is_compatible_with(labels.shape)
        predictions, labels, weights = (
            math_ops.cast(each, dtypes.float32) for each in (predictions, labels, weights)
        )
        errors = raw.Sub(predictions, labels)
        for what, rank in (("diffs", errors.shape.ndims), ("weights", weights.shape.ndims)):
            if rank is None:
                raise ValueError(f"{what}.get_shape().ndims cannot be None")
        axes = list(range(1, errors.shape.ndims))
        counts = reduce_ops.reduce_sum(_present(weights, errors), axes)
        squares = reduce_ops.reduce_sum(raw.Square(errors), axes)
        sums = reduce_ops.reduce_sum(errors, axes)
        first = raw.DivNoNan(squares, counts)
        second = raw.DivNoNan(raw.Square(sums), raw.Square(counts))
        means = raw.Mul(2.0, raw.Sub(first, second))
        # One weight for all examples is that of their sum.
        kept = means if weights.shape.ndims else reduce_ops.reduce_sum(means)
        loss = reduce_ops.reduce_sum(raw.Mul(kept, weights))
        total = raw.Select(
            raw.Greater(reduce_ops.reduce_sum(counts), 0.0), loss, raw.ZerosLike(loss)
        )
        return _added(total)


def _present(weights: Any, errors: Any) -> Any:
    """Return 1 for each error whose weight is not 0, and 0 for the others."""
    ones = raw.Cast(raw.NotEqual(weights, 0.0), DstT=dtypes.float32)
    missing = errors.shape.ndims - weights.shape.ndims
    if weights.shape.ndims and missing > 0:
        ones = raw.Reshape(ones, raw.ConcatV2([raw.Shape(ones), [1] * missing], 0))
    return raw.Mul(raw.OnesLike(errors), ones)


_METRIC_LEARNING = "capstan.contrib.metric_learning"
alias.grow(
    __name__,
    {
        "metric_learning": (_METRIC_LEARNING,),
        "python.losses": (__name__,),
        "python.losses.loss_ops": (__name__,),
        "python.metric_learning": (_METRIC_LEARNING,),
        "python.metric_learning.metric_loss_ops": (_METRIC_LEARNING,),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.losses", name)


def __dir__() -> list[str]:
    return public.names(globals())
