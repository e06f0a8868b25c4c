"""`sequence_loss` (contrib/seq2seq/python/ops/loss.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import losses_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross-entropy of sequences, averaged over the axes that are named.

    The logits have the shape [batch, time, classes], the targets and weights [batch, time]. An
    average divides by the sum of the weights. A sum divides by the number of weights that are not
    0.

    Raises:
        ValueError: a rank is wrong, or an axis is both averaged and summed.
    """
    logits, targets, weights = (convert.convert_to_tensor(v) for v in (logits, targets, weights))
    for title, value, sizes in (
        ("Logits", logits, "[batch_size x sequence_length x logits]"),
        ("Targets", targets, "[batch_size x sequence_length]"),
        ("Weights", weights, "[batch_size x sequence_length]"),
    ):
        if value.shape.ndims != sizes.count(" x ") + 1:
            raise ValueError(f"{title} must be a {sizes} tensor")
    for axis, is_averaged, is_summed in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if is_averaged and is_summed:
            raise ValueError(
                f"average_across_{axis} and sum_over_{axis} cannot be set to True at same time."
            )
    with scoped(name, "sequence_loss", (logits, targets, weights)):
        sizes_of = raw.Shape(logits)
        rows = raw.Reshape(logits, [-1, logits.shape.as_list()[2] or sizes_of[2]])
        function = softmax_loss_function or losses_ops.sparse_softmax_cross_entropy_with_logits
        losses = function(labels=raw.Reshape(targets, [-1]), logits=rows)
        losses = raw.Reshape(losses * raw.Reshape(weights, [-1]), sizes_of[0:2])
        if average_across_timesteps and average_across_batch:
            return _ratio(losses, weights, [0, 1])
        if sum_over_timesteps and sum_over_batch:
            return _ratio(losses, _present(weights, losses), [0, 1])
        if average_across_timesteps or average_across_batch:
            return _ratio(losses, weights, [0] if average_across_batch else [1])
        if sum_over_timesteps or sum_over_batch:
            return _ratio(losses, _present(weights, losses), [0] if sum_over_batch else [1])
        return losses


def _present(weights: Any, losses: Any) -> Any:
    return math_ops.cast(raw.NotEqual(weights, raw.ZerosLike(weights)), losses.dtype)


def _ratio(losses: Any, weights: Any, axes: list[int]) -> Any:
    total = reduce_ops.reduce_sum(losses, axes)
    return raw.DivNoNan(total, reduce_ops.reduce_sum(weights, axes))
