"""The variables of metrics, and the arguments that all metrics take."""

from collections.abc import Sequence
from typing import Any

from capstan.api import creation_ops, loss_reduction, math_ops, reduce_ops, variables
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Result = tuple[Any, Any]
_KEYS = collections.GraphKeys


def metric_variable(shape: Sequence[int], name: str, dtype: dtypes.DType = dtypes.float32) -> Any:
    """Return a local variable of zeros for a metric."""
    return variables.Variable(
        lambda: creation_ops.zeros(shape, dtype),
        trainable=False,
        collections=[_KEYS.LOCAL_VARIABLES, _KEYS.METRIC_VARIABLES],
        validate_shape=True,
        name=name,
    )


def finished(value: Any, update: Any, values: Sequence[str] | None, updates: Any) -> Result:
    """Add the metric and its update to collections, and return them."""
    graph = graphs.get_default_graph()
    for names, tensor in ((values, value), (updates, update)):
        for name in [names] if isinstance(names, str) else names or ():
            graph.add_to_collection(name, tensor)
    return value, update


def ratio(total: Any, count: Any, name: str | None) -> Any:
    """Return total / count, or 0 if the count is 0."""
    return raw.DivNoNan(total, count, name=name)


def weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    """Return the values times the weights, and the sum of the weights."""
    if weights is None:
        return values, math_ops.cast(raw.Size(values), dtypes.float32)
    weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
    weights = loss_reduction.without_last_one(weights, values, 0)
    wide = raw.Mul(weights, raw.OnesLike(values))
    return raw.Mul(values, wide), reduce_ops.reduce_sum(wide)


def alike(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Return tensors of one rank. An axis of size 1 at the end of only one of them is removed."""
    predictions = convert.convert_to_tensor(predictions)
    labels = convert.convert_to_tensor(labels)
    predictions = loss_reduction.without_last_one(predictions, labels, 0)
    labels = loss_reduction.without_last_one(labels, predictions, 0)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels
