"""Losses of lists of steps (contrib/legacy_seq2seq/python/ops/seq2seq.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, losses_ops, math_ops, reduce_ops, scope_block, variable_scope
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross-entropy of each sequence, over the sum of its weights.

    Each list has one tensor for each step.

    Raises:
        ValueError: the lists have different lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with scoped(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                loss = losses_ops.sparse_softmax_cross_entropy_with_logits(
                    labels=array_ops.reshape(target, [-1]), logits=logit
                )
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = math_ops.add_n(losses)
        if average_across_timesteps:
            # TensorFlow adds this number, so that sequences without weights have the loss 0.
            total = total / (math_ops.add_n(list(weights)) + 1e-12)
        return total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the sum, or the mean, of the losses that `sequence_loss_by_example` returns."""
    with scoped(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduce_ops.reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function
            )
        )
        if not average_across_batch:
            return cost
        batch = raw.Shape(convert.convert_to_tensor(targets[0]))[0]
        return cost / math_ops.cast(batch, cost.dtype)


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Return the outputs and the loss of a model for each bucket: a pair of lengths.

    The models share their variables.

    Raises:
        ValueError: a list is shorter than the last bucket.
    """
    for title, values, length in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(values) < length:
            raise ValueError(
                f"Length of {title} ({len(values)}) must be at least that of last bucket "
                f"({length})."
            )
    all_inputs = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    outputs, losses = [], []
    with scoped(name, "model_with_buckets", all_inputs):
        for number, (ins, outs) in enumerate(buckets):
            current = variable_scope.get_variable_scope()
            with scope_block.variable_scope(current, reuse=True if number else None):
                result, _ = seq2seq(encoder_inputs[:ins], decoder_inputs[:outs])
                outputs.append(result)
                loss = sequence_loss_by_example if per_example_loss else sequence_loss
                losses.append(
                    loss(
                        result, targets[:outs], weights[:outs],
                        softmax_loss_function=softmax_loss_function,
                    )
                )  # fmt: skip
    return outputs, losses
