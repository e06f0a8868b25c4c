"""Checks that weights can be broadcast to values (python/ops/weights_broadcast_ops.py)."""

from typing import Any

from capstan.api import cond_ops, control_flow_ops, reduce_ops
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
        check_weights(weights.shape, values.shape)
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


def check_weights(weights: Any, losses: Any) -> None:
    """Raise ValueError if weights of a known shape cannot be broadcast to the losses."""
    if weights.ndims in (None, 0) or losses.ndims is None:
        return
    if weights.ndims != losses.ndims:
        raise ValueError(
            f"weights can not be broadcast to values. values.rank={losses.ndims}. "
            f"weights.rank={weights.ndims}. values.shape={losses}. weights.shape={weights}."
        )
    for size, wanted in zip(weights.as_list(), losses.as_list(), strict=True):
        if None not in (size, wanted) and size not in (1, wanted):
            raise ValueError(
                "weights can not be broadcast to values. "
                f"values.shape={losses}. weights.shape={weights}."
            )
