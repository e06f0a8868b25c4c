"""Losses of a replica whose gradients add up to those of the mean (python/ops/nn_impl.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    context,
    distribution_strategy,
    math_ops,
    metric_state,
    reduce_ops,
)
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["compute_average_loss", "scale_regularization_loss"]


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Any:
    """Return the sum of the losses of the examples of a replica, divided by the size of the batch.

    The default for `global_batch_size` is the number of examples of the replica times the number
    of replicas. A step raises InvalidArgumentError if the losses are a scalar of unknown rank.

    Raises:
        ValueError: the losses are a scalar.
        RuntimeError: the size is not given, and the graph is built for all replicas of a strategy.
    """
    losses = convert.convert_to_tensor(per_example_loss)
    kind = losses.dtype.base_dtype
    if losses.shape.ndims == 0:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1, "
            f"received: {losses}"
        )
    checks = []
    if losses.shape.ndims is None:
        message = "Invalid value passed for `per_example_loss`. Expected a tensor with rank 1."
        checks.append(check_ops.assert_greater_equal(raw.Rank(losses), 1, message=message))
    with context.control_dependencies(checks):
        losses = raw.Identity(losses)
    if sample_weight is not None:
        wide = metric_state.as_wide(sample_weight, losses)
        losses = math_ops.cast(raw.Mul(math_ops.cast(losses, wide.dtype), wide), kind)
    if global_batch_size is None:
        replicas = _replicas("compute_average_loss")
        global_batch_size = math_ops.cast(array_ops.shape(losses)[0] * replicas, kind)
    return reduce_ops.reduce_sum(losses) / global_batch_size


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """Return the sum of losses of variables, divided by the number of replicas.

    Raises:
        RuntimeError: the graph is built for all replicas of a strategy.
    """
    replicas = _replicas("scale_regularization_loss")
    return reduce_ops.reduce_sum(regularization_loss) / replicas


def _replicas(caller: str) -> int:
    """Return the number of replicas of the strategy."""
    if distribution_strategy.has_strategy() and distribution_strategy.in_cross_replica_context():
        raise RuntimeError(
            f"You are calling `{caller}` in cross replica context, while it was expected to be "
            "called in replica context."
        )
    return int(distribution_strategy.get_strategy().num_replicas_in_sync)
