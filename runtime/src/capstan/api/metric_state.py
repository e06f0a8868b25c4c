"""The variables of metrics, and the arguments that all metrics take."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    cond_ops,
    context,
    creation_ops,
    distribution_modes,
    loss_reduction,
    math_ops,
    reduce_ops,
    variable_replicas,
    variables,
    weight_checks,
)
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Result = tuple[Any, Any]
_KEYS = collections.GraphKeys


def metric_variable(shape: Sequence[int], name: str, dtype: dtypes.DType = dtypes.float32) -> Any:
    """Return a local variable of zeros for a metric. The replicas of a strategy add up."""
    return variables.Variable(
        lambda: creation_ops.zeros(shape, dtype),
        trainable=False,
        collections=[_KEYS.LOCAL_VARIABLES, _KEYS.METRIC_VARIABLES],
        validate_shape=True,
        name=name,
        synchronization=variable_replicas.VariableSynchronization.ON_READ,
        aggregation=variable_replicas.VariableAggregation.SUM,
    )


def finished(
    value: Callable[[], Any], update: Any, values: Sequence[str] | None, updates: Any
) -> Result:
    """Add the metric and its update to collections, and return them.

    `value()` reads the variables of the metric. In a replica of a strategy it is called once for
    all replicas, so the variables that it reads have the sums of the replicas.
    """

    def read(*_: Any) -> Any:
        return _collected(value(), values)

    mode = distribution_modes.current()
    replica = None if mode is None else mode.replica
    found = read() if replica is None else replica.merge_call(read)
    return found, _collected(update, updates)


def _collected(tensor: Any, names: Any) -> Any:
    for name in [names] if isinstance(names, str) else names or ():
        graphs.get_default_graph().add_to_collection(name, tensor)
    return tensor


def ratio(total: Any, count: Any, name: str | None) -> Any:
    """Return total / count, or 0 if the count is 0."""
    return raw.DivNoNan(total, count, name=name)


def weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    """Return the values times the weights, and the sum of the weights."""
    if weights is None:
        return values, math_ops.cast(raw.Size(values), dtypes.float32)
    wide = as_wide(weights, values)
    return raw.Mul(values, wide), reduce_ops.reduce_sum(wide)


def as_wide(weights: Any, values: Any, dtype: dtypes.DType = dtypes.float32) -> Any:
    """Return weights in the shape of the values.

    If the rank of the weights is one more or one less, the last axis of size 1 is removed or added.
    A size of 1 is repeated. Weights of another shape make the step fail.

    Raises:
        ValueError: the known shapes do not fit.
    """
    weights = math_ops.cast(convert.convert_to_tensor(weights), dtype)
    rank, wanted = weights.shape.ndims, values.shape.ndims
    if rank == 0:
        return raw.BroadcastTo(weights, raw.Shape(values))
    if rank is None or wanted is None:
        excess = raw.Sub(raw.Rank(weights), raw.Rank(values))
        is_short = raw.LogicalAnd(raw.Equal(excess, -1), raw.Greater(raw.Rank(weights), 0))
        weights = _squeezed_if(raw.Equal(excess, 1), weights)
        weights = cond_ops.cond(
            is_short, lambda: raw.ExpandDims(weights, -1), lambda: raw.Identity(weights)
        )
    elif rank == wanted - 1:
        weights = raw.ExpandDims(weights, -1)
    else:
        weights = loss_reduction.without_last_one(weights, values, 0)
    check = weight_checks.assert_broadcastable(weights, values)
    with context.control_dependencies([check]):
        return raw.BroadcastTo(weights, raw.Shape(values))


def alike(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Return tensors of one rank. An axis of size 1 at the end of only one of them is removed."""
    predictions = convert.convert_to_tensor(predictions)
    labels = convert.convert_to_tensor(labels)
    if predictions.shape.ndims is None or labels.shape.ndims is None:
        excess = raw.Sub(raw.Rank(predictions), raw.Rank(labels))
        predictions = _squeezed_if(raw.Equal(excess, 1), predictions)
        labels = _squeezed_if(raw.Equal(excess, -1), labels)
    else:
        predictions = loss_reduction.without_last_one(predictions, labels, 0)
        labels = loss_reduction.without_last_one(labels, predictions, 0)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def _squeezed_if(condition: Any, tensor: Any) -> Any:
    """Return a tensor that loses its last axis if the condition holds in the step."""
    shape = tensor.shape
    if shape.ndims == 0 or (shape.ndims is not None and shape.as_list()[-1] not in (1, None)):
        return tensor
    return cond_ops.cond(
        condition, lambda: raw.Squeeze(tensor, squeeze_dims=[-1]), lambda: raw.Identity(tensor)
    )
