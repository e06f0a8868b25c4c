"""Weights, labels and predictions whose shapes must fit, for metrics and losses of programs.

Sources: tensorflow/python/ops/{weights_broadcast_ops,confusion_matrix}.py.
"""

from typing import Any

from capstan.api import context, loss_reduction, math_ops, weight_checks
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

assert_broadcastable = weight_checks.assert_broadcastable


def broadcast_weights(weights: Any, values: Any) -> Any:
    """Return weights in the dtype and the shape of the values.

    `assert_broadcastable` says which shapes fit, and which errors there are.
    """
    with scoped(None, "broadcast_weights", (weights, values)) as scope:
        values = convert.convert_to_tensor(values, name="values")
        weights = convert.convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        are_known = weights.shape.is_fully_defined() and values.shape.is_fully_defined()
        if are_known and weights.shape.is_compatible_with(values.shape):
            return weights
        with context.control_dependencies([assert_broadcastable(weights, values)]):
            return math_ops.multiply(weights, raw.OnesLike(values), name=scope)


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Return labels and predictions, of which one may lose a last axis of size 1.

    The rank of the predictions should be the rank of the labels plus `expected_rank_diff`. If it is
    one more, the predictions lose the axis. If it is one less, the labels lose it. If a static rank
    is unknown, the step decides.
    """
    with scoped(name, "remove_squeezable_dimensions", (labels, predictions)):
        predictions = convert.convert_to_tensor(predictions)
        labels = convert.convert_to_tensor(labels)
        return (
            loss_reduction.without_last_one(labels, predictions, expected_rank_diff),
            loss_reduction.without_last_one(predictions, labels, -expected_rank_diff),
        )
