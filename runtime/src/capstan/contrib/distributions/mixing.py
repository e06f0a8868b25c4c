"""Statistics of mixtures whose components are stacked along an axis.

The axis of the components is the last one before the axes of an event.
"""

from typing import Any

from capstan.api import creation_ops, nn, reduce_ops
from capstan.framework.raw import raw


def before_events(tensor: Any, event_ndims: int) -> Any:
    """Return a tensor of the components with an axis of size 1 for each axis of an event."""
    for _ in range(event_ndims):
        tensor = raw.ExpandDims(tensor, -1)
    return tensor


def average(probs: Any, stacked: Any, event_ndims: int) -> Any:
    """Return the mean of statistics of the components."""
    weighted = before_events(probs, event_ndims) * stacked
    return reduce_ops.reduce_sum(weighted, -1 - event_ndims)


def variance(probs: Any, means: Any, variances: Any, event_ndims: int) -> Any:
    """Return the variance of the mixture from the means and variances of the components."""
    weights = before_events(probs, event_ndims)
    axis = -1 - event_ndims
    centre = reduce_ops.reduce_sum(weights * means, axis, keepdims=True)
    return average(probs, variances + raw.SquaredDifference(means, centre), event_ndims)


def total(logits: Any, logarithms: Any) -> Any:
    """Return the logarithm of the mean of numbers, from the logarithms of the components."""
    return reduce_ops.reduce_logsumexp(nn.log_softmax(logits) + logarithms, -1)


def picked(classes: Any, count: Any, stacked: Any, event_ndims: int) -> Any:
    """Return for each element of the batch the sample of the component in `classes`."""
    marks = creation_ops.one_hot(classes, count, True, False)
    marks = before_events(marks, event_ndims)
    # Samples of other components may be infinite, and 0 times infinity is NaN.
    kept = raw.SelectV2(marks, stacked, raw.ZerosLike(stacked))
    return reduce_ops.reduce_sum(kept, -1 - event_ndims)
