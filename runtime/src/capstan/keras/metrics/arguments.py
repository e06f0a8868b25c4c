"""The labels, predictions and weights that metrics of Keras take, in shapes that fit.

Source: tensorflow/python/ops/losses/util.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    logic_ops,
    math_ops,
    reduce_ops,
    weight_checks,
    weight_shapes,
)
from capstan.framework import convert


def pair(y_true: Any, y_pred: Any, dtype: Any) -> tuple[Any, Any]:
    """Return labels and predictions as tensors of a type, with ranks that fit.

    An axis of size 1 at the end of only one of them is removed. Predictions may have one more axis
    for the classes.
    """
    labels, predictions = (math_ops.cast(each, dtype) for each in (y_true, y_pred))
    ranks = labels.shape.ndims, predictions.shape.ndims
    if None in ranks:
        return _pair_of_unknown_rank(labels, predictions)
    if ranks[1] - ranks[0] != 1 or predictions.shape.as_list()[-1] == 1:
        return _squeezed(labels, predictions)
    return labels, predictions


def _squeezed(labels: Any, predictions: Any) -> tuple[Any, Any]:
    return weight_shapes.remove_squeezable_dimensions(labels, predictions)


def _pair_of_unknown_rank(labels: Any, predictions: Any) -> tuple[Any, Any]:
    excess = array_ops.rank(predictions) - array_ops.rank(labels)
    is_one = logic_ops.equal(array_ops.shape(predictions)[-1], 1)
    has_classes = logic_ops.logical_and(logic_ops.equal(excess, 1), logic_ops.logical_not(is_one))
    found: tuple[Any, Any] = cond_ops.cond(
        has_classes, lambda: (labels, predictions), lambda: _squeezed(labels, predictions)
    )
    return found


def weighted(values: Any, sample_weight: Any, *, is_mean: bool) -> tuple[Any, Any]:
    """Return values times weights, and the weights, which have the shape of the values.

    The weights may have one axis of size 1 more than the values, or one axis less. If they have
    fewer axes, the values are summed, or averaged with `is_mean`, along the axes that are missing.
    """
    weights = math_ops.cast(sample_weight, values.dtype)
    rank, wanted = weights.shape.ndims, values.shape.ndims
    if rank not in (0, None) and wanted is not None:
        if rank == wanted + 1:
            weights = array_ops.squeeze(weights, [-1])
        elif rank == wanted - 1:
            weights = array_ops.expand_dims(weights, -1)
    try:
        weight_checks.check_weights(weights.shape, values.shape)
    except ValueError:
        reduce = reduce_ops.reduce_mean if is_mean else reduce_ops.reduce_sum
        values = reduce(values, axis=list(range(weights.shape.ndims, values.shape.ndims)))
    else:
        weights = weight_shapes.broadcast_weights(weights, values)
    return math_ops.multiply(values, weights), weights


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and another value as a list of one element."""
    return list(value) if isinstance(value, list | tuple) else [value]


def thresholds(given: Any, default: float) -> list[float]:
    """Return thresholds as a list.

    Raises:
        ValueError: a threshold is not in [0, 1].
    """
    if given is None:
        return [default]
    invalid = [each for each in as_list(given) if each is None or each < 0 or each > 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {invalid}")
    return as_list(given)


def between(number: int) -> list[float]:
    """Return the `number` - 2 thresholds that divide [0, 1] into equal parts."""
    return [(index + 1) * 1.0 / (number - 1) for index in range(number - 2)]


def same_rank(values: Sequence[Any]) -> bool:
    """Return whether tensors have a known rank, and all the same one."""
    ranks = {convert.convert_to_tensor(value).shape.ndims for value in values}
    return len(ranks) == 1 and None not in ranks
