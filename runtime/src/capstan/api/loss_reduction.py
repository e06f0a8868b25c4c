"""The reduction of weighted losses, and the losses of a graph (python/ops/losses/util.py).

A loss is added to the collection LOSSES. `weights` multiply the loss of each element. They are a
scalar, or have the rank of the losses with sizes that are equal or 1.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import cond_ops, context, loss_scaling, math_ops, reduce_ops, weight_checks
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

KEYS = collections.GraphKeys


class Reduction:
    """The ways to reduce the weighted losses of elements to one loss."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (
            cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )  # fmt: skip

    @classmethod
    def validate(cls, key: str) -> None:
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS


def add_loss(loss: Any, loss_collection: str | None = KEYS.LOSSES) -> None:
    """Add a loss to a collection, unless the collection is None."""
    if loss_collection:
        graphs.get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = KEYS.LOSSES) -> list[Any]:
    """Return the losses of a collection whose names begin with `scope`."""
    return graphs.get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    return graphs.get_default_graph().get_collection(KEYS.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """Return the sum of the regularization losses, or 0 if there are none."""
    losses = get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name) if losses else convert.constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Return the sum of the losses, and of the regularization losses by default.

    Raises:
        ValueError: there are no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name)


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = KEYS.LOSSES,
    reduction: str = DEFAULT,
) -> Any:
    """Return the losses times the weights, reduced, in the dtype of the losses.

    Raises:
        ValueError: the shape of the weights does not fit, or the reduction is unknown.
    If only the step knows the shapes, the step raises InvalidArgumentError.
    """
    Reduction.validate(reduction)
    loss_scaling.note(reduction)
    with scoped(scope, "weighted_loss", (losses, weights)):
        losses = convert.convert_to_tensor(losses)
        kind = losses.dtype.base_dtype
        losses = math_ops.cast(losses, dtypes.float32)
        weights = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float32)
        with context.control_dependencies([weight_checks.assert_broadcastable(weights, losses)]):
            loss = raw.Mul(losses, weights)
        if reduction != Reduction.NONE:
            loss = _reduced(loss, losses, weights, reduction)
        loss = math_ops.cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _reduced(weighted: Any, losses: Any, weights: Any, reduction: str) -> Any:
    total = reduce_ops.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reduce_ops.reduce_sum(raw.Mul(raw.OnesLike(losses), weights))
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = math_ops.cast(raw.Size(losses), dtypes.float32)
    else:
        count = present(losses, weights)
    return raw.DivNoNan(total, count, name="value")


def present(losses: Any, weights: Any) -> Any:
    """Return the number of losses whose weight is not 0."""
    with scoped(None, "num_present", (losses, weights)):
        is_present = raw.Cast(raw.NotEqual(weights, 0.0), DstT=dtypes.float32)
        return reduce_ops.reduce_sum(raw.Mul(raw.OnesLike(losses), is_present))


def without_last_one(value: Any, other: Any, difference: int) -> Any:
    """Remove the last axis of `value` if it has size 1 and the rank is one too high.

    The rank should be the rank of `other` minus `difference`. If a static rank is unknown, the step
    decides.
    """
    rank, wanted = value.shape.ndims, other.shape.ndims
    if rank is not None:
        sizes: Sequence[int | None] = value.shape.as_list()
        if not sizes or sizes[-1] not in (1, None):
            return value
    if rank is not None and wanted is not None:
        is_surplus = rank == wanted - difference + 1
        return raw.Squeeze(value, squeeze_dims=[-1]) if is_surplus else value
    surplus = raw.Sub(raw.Rank(value), raw.Rank(other))
    return cond_ops.cond(
        raw.Equal(surplus, 1 - difference),
        lambda: raw.Squeeze(value, squeeze_dims=[-1]),
        lambda: value,
    )
