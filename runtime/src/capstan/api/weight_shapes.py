"""Weights, labels and predictions whose shapes must fit, for metrics and losses of programs.

Sources: tensorflow/python/ops/{weights_broadcast_ops,confusion_matrix}.py.
"""

from typing import Any

from capstan.api import (
    cond_ops,
    context,
    control_flow_ops,
    loss_reduction,
    math_ops,
    reduce_ops,
)
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """Return an operation that checks that weights can be broadcast to values.

    Weights may be a scalar, or have the rank of the values and in each axis the size 1 or the size
    of the values. The operation does nothing if the static shapes tell that the weights fit.

    Raises:
        ValueError: the static shapes do not fit.
    A step raises InvalidArgumentError if the shapes do not fit.
    """
    with scoped(None, "assert_broadcastable", (weights, values)) as scope:
        weights = convert.convert_to_tensor(weights, name="weights")
        values = convert.convert_to_tensor(values, name="values")
        loss_reduction.check_weights(weights.shape, values.shape)
        if weights.shape.ndims == 0:
            return control_flow_ops.no_op(name="static_scalar_check_success")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined():
            return control_flow_ops.no_op(name="static_dims_check_success")
        shape, wanted_shape = raw.Shape(weights), raw.Shape(values)
        fits = cond_ops.cond(
            raw.Equal(raw.Rank(weights), 0),
            lambda: convert.constant(True),
            lambda: _fits_axes(shape, wanted_shape),
            name="is_valid_shape",
        )
        data = (
            *("weights can not be broadcast to values.", "weights.shape=", weights.name, shape),
            *("values.shape=", values.name, wanted_shape),
        )
        return control_flow_ops.Assert(fits, data, name=scope)


def _fits_axes(shape: Any, wanted: Any) -> Any:
    """Return whether two shapes have one rank, and each size is 1 or the wanted size."""
    return cond_ops.cond(
        raw.Equal(raw.Size(shape), raw.Size(wanted)),
        lambda: reduce_ops.reduce_all(raw.LogicalOr(raw.Equal(shape, 1), raw.Equal(shape, wanted))),
        lambda: convert.constant(False),
    )


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
