"""The losses of linear models that are trained by stochastic dual coordinate ascent."""

from typing import Any, Final

from capstan.api import losses_ops, math_ops, reduce_ops
from capstan.framework.raw import raw

NAMES: Final = (
    *("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"),
)


def mean(kind: str, labels: Any, predictions: Any, weights: Any) -> Any:
    """Return the weighted mean of the losses of examples. Labels of classes are 0 and 1.

    The smooth hinge loss is measured as the hinge loss, and the squared loss is divided by 2.
    """
    each = {
        "logistic_loss": _logistic, "poisson_loss": _poisson, "squared_loss": _squared,
    }.get(kind, _hinge)(labels, predictions)  # fmt: skip
    return reduce_ops.reduce_sum(each * weights) / reduce_ops.reduce_sum(weights)


def prediction(kind: str, linear: Any) -> Any:
    """Return the predictions of a model for the sums of its features."""
    if kind == "logistic_loss":
        return math_ops.sigmoid(linear)
    return math_ops.exp(linear) if kind == "poisson_loss" else linear


def _logistic(labels: Any, predictions: Any) -> Any:
    return losses_ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions)


def _poisson(labels: Any, predictions: Any) -> Any:
    return math_ops.exp(predictions) - predictions * labels


def _squared(labels: Any, predictions: Any) -> Any:
    return raw.Square(labels - predictions) / 2


def _hinge(labels: Any, predictions: Any) -> Any:
    return raw.Relu(1 - (2 * labels - 1) * predictions)
